// How the search ranks what it finds: a page that is about a word comes before one that names it, and a page to read before
// a page to look up.
var Scorer = {
  score: function (result) {
    const [docname, , , , score] = result;
    const weight = docname.startsWith("api/") ? 0.6 : docname === "changes" || docname === "design" || docname === "benchmarks" ? 0.3 : 1;
    return Math.round(100 * score * weight);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
