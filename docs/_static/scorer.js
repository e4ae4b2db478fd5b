// How the search ranks what it finds: a page that is about a word comes before one that names it, and a page to read before
// a page to look up.
const weightOf = (docname) => {
  if (docname.endsWith("index") || docname === "search") return 0.2; // lists of pages name everything and explain nothing
  if (["changes", "design", "benchmarks", "contributing"].includes(docname)) return 0.3;
  return docname.startsWith("api/") || docname.startsWith("theory/") ? 0.6 : 1;
};

// The words that were typed, and how much of them a title says: all of it in one piece counts most.
const typed = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
const words = typed.split(/\s+/).filter((word) => word.length > 2);
const agreement = (title) => {
  const text = title.toLowerCase();
  const share = words.filter((word) => text.includes(word)).length / Math.max(words.length, 1);
  return 1 + 2 * share + (typed && text.includes(typed) ? 2 : 0);
};

var Scorer = {
  score: function (result) {
    const [docname, title, , , score] = result;
    return Math.round(100 * score * weightOf(docname) * agreement(title));
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 60,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
