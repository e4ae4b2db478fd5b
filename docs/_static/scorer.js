// How the search ranks what it finds: a page with a heading that says what was typed comes first, then a page that is about the
// words, and a page to read before a page to look up.
const weightOf = (docname) => {
  if (docname.endsWith("index") || docname === "search") return 0.2; // lists of pages name everything and explain nothing
  if (["changes", "design", "benchmarks", "contributing", "style"].includes(docname)) return 0.3;
  return docname.startsWith("api/") || docname.startsWith("theory/") ? 0.6 : 1;
};

// The words that were typed, without their endings: "distances" and "distance" are one word here.
const typed = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
const stem = (word) => (word.length > 5 ? word.replace(/(s|es|ed|e|ing)$/, "") : word);
const words = typed
  .split(/\s+/)
  .filter((word) => word.length > 2 && !["how", "what", "the", "and", "for", "from", "should", "use"].includes(word))
  .map(stem);
const agreement = (text) => {
  const heading = text.toLowerCase();
  const share = words.filter((word) => heading.includes(word)).length / Math.max(words.length, 1);
  return 2 * share + (typed && heading.includes(typed) ? 2 : 0);
};

// The headings of each page, from the index of the search.
let headings = null;
const headingsOf = (docname) => {
  if (headings === null) {
    headings = {};
    for (const [heading, places] of Object.entries(Search._index.alltitles))
      for (const [page] of places) (headings[Search._index.docnames[page]] ??= []).push(heading);
  }
  return headings[docname] ?? [];
};

var Scorer = {
  score: function (result) {
    const [docname, title, , , score] = result;
    const best = Math.max(agreement(title), ...headingsOf(docname).map((heading) => 0.9 * agreement(heading)));
    return Math.round(100 * score * weightOf(docname) * (1 + best));
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
