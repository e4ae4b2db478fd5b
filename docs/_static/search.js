// The search of the site. `search_sections.js`, which the build writes, has the text of every section as
// SECTIONS: page → [anchor, heading, text, code] …, the page itself first. This script ranks them and lists the results. It takes the
// place of Sphinx's search, which shows only pages that have all the words that were typed.
//
// A page scores by BM25 over its words, once for the page as a whole and once for the best of its sections; title and headings
// count more than the text. Words count without their endings, and other words for the same thing count for a part.

"use strict";

(() => {
  // Spellings that mean one word. They apply to the pages and to what was typed.
  const SPELLINGS = [
    [/\bt[-\s]sne\b/gi, "tsne"],
    [/\bscikit[-\s]learn\b/gi, "sklearn"],
    [/\bumap[-\s]learn\b/gi, "umap"],
    [/\bkernel[-\s]pca\b/gi, "KernelPCA"],
    [/\bkernel[-\s]cca\b/gi, "KernelCCA"],
    [/\bkernel[-\s](linear[-\s]|fisher[-\s])?(discriminants?|lda|fda)\b/gi, "KernelDiscriminant"],
    [/\bclassical[-\s](mds|scaling|multidimensional scaling)\b/gi, "ClassicalMDS"],
    [/\bpre[-\s]image/gi, "preimage"],
    [/\bout[-\s]of[-\s]core\b/gi, "outofcore"],
    [/\bone[-\s]hot\b/gi, "onehot"],
    [/\blow[-\s]rank\b/gi, "lowrank"],
    [/\bsingle[-\s]cells?\b/gi, "singlecell"],
    [/\bnon[-\s]metric\b/gi, "nonmetric"],
  ];

  // What people type, and the words that our pages have for it.
  const PHRASES = [
    [/\bout of memory\b/i, "memory killed MemoryError"],
    [/\bout[-\s]of[-\s]sample\b|\b(new|unseen|test|future) (data|points?|samples?|rows?|observations?)\b/i, "transform new rows"],
    [/\bnegative eigenvalues?\b|\bnot positive (semi-?)?definite\b/i, "indefinite kernel"],
    [/\bprincipal coordinates?\b/i, "classical mds"],
    [/\b(single|one|same) (point|place|spot)\b/i, "ball middle collapse"],
    [/\bmore (features|columns|variables|dimensions) than (samples|rows|observations)\b/i, "high dimensional penalty"],
    [/\bn_?features? (>|>>) n_?samples?\b/i, "penalty dimensions than samples"],
    [/\bnumber of (dimensions|components)\b|\bhow many (dimensions|components)\b/i, "n_components components"],
    [/\bconfusion\b|\bmisleading\b|\btrust\b|\bbelieve\b/i, "quality map"],
  ];

  // Words for the same thing. A word that was typed also finds the others of its line, for less.
  const SYNONYMS = [
    "lda discriminant discriminants kerneldiscriminant kda kfda klda fisher supervised",
    "kpca kernelpca",
    "kcca kernelcca cca canonical",
    "pcoa torgerson classicalmds",
    "multidimensional mds",
    "gpu cuda device card cupy",
    "memory memoryerror oom ram killed memory_limit",
    "nan missing",
    "inf infinite infinity overflow",
    "seed random_state reproducible reproducibility deterministic nondeterministic stochastic randomness",
    "differ different inconsistent vary disagree discrepancy",
    "sample row point observation",
    "feature column variable predictor",
    "dimension component",
    "dimensionality dimension",
    "embedding map projection",
    "dissimilarity distance metric similarity",
    "precomputed dissimilarity",
    "pickle save saving store serialize joblib dump export persist load",
    "batch chunk incremental incrementalpca partial_fit stream minibatch outofcore memmap",
    "large big huge million billion scale",
    "categorical category categories onehot encode mixed nominal text",
    "csv table dataframe pandas excel tsv parquet",
    "unseen new",
    "outlier anomaly novelty novel",
    "disconnected disconnectedgraphwarning fragmented parts",
    "ball blob collapse collapsed",
    "reconstruct reconstruction inverse inverse_transform preimage decode",
    "denoise denoising noise noisy smooth",
    "width gamma bandwidth length_scale sigma",
    "regularization regularize regularisation penalty reg shrinkage ridge",
    "neighbor neighbour neighbourhood neighborhood knn n_neighbors k",
    "slow speed fast faster runtime time",
    "thread n_jobs parallel core multicore cpu",
    "flip flipped sign signs",
    "nystroem nystrom landmark lowrank rpcholesky",
    "cluster group clustering",
    "label class target",
    "string text sequence word",
    "image picture photo pixel",
    "custom own callable",
    "singlecell h5ad anndata scanpy scrna",
    "spark ray dask distributed cluster",
    "collinear collinearity multicollinearity singular",
    "overfit overfitting overfits",
    "plot draw visualize visualization visualise figure scatter",
    "interactive slider live explore",
    "jupyter notebook colab jupyterlab marimo widget",
    "shell command cli terminal",
    "web html browser page",
    "interpret interpretable interpretation reading meaning loading loadings contribution importance contributions",
    "global distances",
    "geodesic shortest",
    "install pip conda installation",
    "warning message",
    "crash crashes killed segfault",
    "standardize normalize scale scaling standardscaler",
    "perfect one",
    "weight weights sample_weight",
    "kruskal stress",
    "initialization init start",
    "iteration iterations step steps max_iter n_iter",
    "converge converged convergence notconvergedwarning",
  ];

  const TRIVIAL = new Set(
    "get got use used using want need please way can cannot could would should does doesn did don isn aren how what why when where which who that this these those there here the and for from with without into onto not but its it is are was were be been being has have had do if or of in on at to as an my me we our you your i a any some very much just like also than then so instead make made give gives given really vs able unable allow allows support supports supported possible try trying work works working issue problem bug question help please add create".split(
      " ",
    ),
  );

  // How much a kind of page counts: lists of pages name everything and explain nothing, and a page to read comes before a page to
  // look up.
  const weightOf = (page) => {
    if (/(^|\/)index$/.test(page)) return 0.35;
    if (/^(changes|design|benchmarks|contributing|style)$/.test(page)) return 0.4;
    if (page.startsWith("_modules/")) return 0;
    if (page.startsWith("theory/") || page === "learn/equations") return 0.7;
    if (page === "start" || page.startsWith("coming_from/")) return 0.77;
    if (page.startsWith("learn/") || page === "trouble") return 0.9;
    if (page.startsWith("gallery/")) return 0.95;
    return page.startsWith("api/") ? 0.8 : 1;
  };

  // Whoever names a method wants a page about it. Symptoms are on one page for all methods.
  const METHODS = "pca kernelpca kernelcca kerneldiscriminant kpca tsne sne isomap mds classicalmds cca kernelcca lda discriminant umap".split(" ");
  const FOR_ALL = new Set(["trouble"]);
  const OTHER_METHOD = 0.85;

  const stemmer = new Stemmer();
  const stems = new Map();
  const stemOf = (word) => {
    let stem = stems.get(word);
    if (stem === undefined) stems.set(word, (stem = word.includes("_") ? word : stemmer.stemWord(word)));
    return stem;
  };

  // The words of a text, as stems. A name such as KernelPCA or explained_variance_ratio_ counts as a whole and by its parts.
  const wordsOf = (text, parted = () => {}) => {
    for (const [spelling, word] of SPELLINGS) text = text.replace(spelling, word);
    const words = [];
    for (const [name] of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
      const whole = name.replace(/^_+|_+$/g, "");
      const lower = whole.toLowerCase();
      if (lower.length < 2 || /^\d+$/.test(lower)) continue;
      words.push(stemOf(lower));
      const parts = whole.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^A-Za-z_\d]+/g) ?? [];
      if (parts.length > 1)
        for (const part of parts)
          if (part.length > 1) {
            words.push(stemOf(part.toLowerCase()));
            parted(words.at(-1));
          }
    }
    return words;
  };

  const K1 = 1.2;
  const FIELDS = { title: 3, heading: 2, text: 1 }; // how often a word in a title counts
  const SHORTENING = 0.45; // how much a long text discounts its words
  const SYNONYM = 0.65;
  const PHRASE = 0.6;
  const PART = 0.5;
  const IN_TITLE = 1.2; // what a word of the page's title adds, and of the section's heading, in units of its rarity
  const IN_HEADING = 0.45;

  // Counts of words in a field, added to `counts` with the weight of the field.
  const add = (counts, words, weight) => {
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + weight);
  };

  class SectionIndex {
    constructor(sections) {
      this.pages = [];
      this.sections = [];
      for (const [name, found] of Object.entries(sections)) {
        const [, title] = found[0];
        const page = { name, title, counts: new Map(), length: 0, sections: [] };
        const titleWords = wordsOf(title);
        add(page.counts, titleWords, FIELDS.title);
        for (const [anchor, heading, text, code] of found) {
          const own = anchor === "" ? [] : wordsOf(heading);
          const words = wordsOf(`${text} ${code}`);
          const section = { page, anchor, heading, text: text || code, counts: new Map(), length: words.length };
          section.about = new Set(own);
          if (anchor === "") add(section.counts, titleWords, FIELDS.title);
          add(section.counts, own, FIELDS.title);
          add(section.counts, words, FIELDS.text);
          add(page.counts, own, FIELDS.heading);
          add(page.counts, words, FIELDS.text);
          page.length += words.length;
          page.sections.push(section);
          this.sections.push(section);
        }
        page.about = new Set(titleWords);
        this.pages.push(page);
      }
      this.pageLength = mean(this.pages);
      this.sectionLength = mean(this.sections);
      this.having = new Map();
      for (const { counts } of this.sections)
        for (const word of counts.keys()) this.having.set(word, (this.having.get(word) ?? 0) + 1);
    }

    rarity(word) {
      const n = this.having.get(word) ?? 0;
      return Math.log(1 + (this.sections.length - n + 0.5) / (n + 0.5));
    }

    // What was typed: terms, each with the words that count for it and how much.
    terms(typed) {
      let spelled = typed;
      for (const [spelling, word] of SPELLINGS) spelled = spelled.replace(spelling, word);
      const asked = new Map();
      const ask = (word, share) => {
        if (!asked.has(word)) asked.set(word, new Map([[word, share]]));
        for (const [other, part] of OTHERS.get(word) ?? []) {
          const words = asked.get(word);
          words.set(other, Math.max(words.get(other) ?? 0, share * part));
        }
      };
      for (const [name] of spelled.matchAll(/[\p{L}\p{N}_]+/gu)) {
        const lower = name.toLowerCase().replace(/^_+|_+$/g, "");
        if (TRIVIAL.has(lower)) continue;
        const parts = new Set();
        for (const word of wordsOf(name, (part) => parts.add(part))) ask(word, parts.has(word) ? PART : 1);
      }
      for (const [phrase, words] of PHRASES)
        if (phrase.test(spelled)) for (const word of wordsOf(words)) if (!asked.has(word)) ask(word, PHRASE);
      return [...asked.values()];
    }

    score(counts, length, average, terms) {
      const norm = K1 * (1 - SHORTENING + (SHORTENING * length) / average);
      let sum = 0;
      let met = 0;
      let all = 0;
      for (const words of terms) {
        let best = 0;
        let most = 0;
        for (const [word, share] of words) {
          const rarity = share * Math.min(this.rarity(word), 6);
          if (this.having.has(word)) most = Math.max(most, rarity);
          const count = counts.get(word);
          if (count) best = Math.max(best, (rarity * count * (K1 + 1)) / (count + norm));
        }
        sum += best;
        met += Math.min(best, most);
        all += most;
      }
      return all ? sum * (0.4 + (0.6 * met) / all) : 0;
    }

    // What words in a title add: how rare they are.
    bonus(about, terms) {
      let sum = 0;
      for (const words of terms) {
        let best = 0;
        for (const [word, share] of words) if (about.has(word)) best = Math.max(best, share * Math.min(this.rarity(word), 6));
        sum += best;
      }
      return sum;
    }

    // Pages by their score, each with the section that matches best.
    search(typed) {
      const terms = this.terms(typed);
      const methods = terms.filter((words) => METHOD_STEMS.has(words.keys().next().value));
      const most = Math.max(...methods.map((words) => words.values().next().value));
      const named = methods.filter((words) => words.values().next().value === most); // KernelPCA, and not its part PCA
      const isAbout = ({ name, about }) =>
        FOR_ALL.has(name) || !named.length || named.some((words) => [...words.keys()].some((word) => about.has(word)));
      const results = [];
      for (const page of this.pages) {
        let whole = this.score(page.counts, page.length, this.pageLength, terms);
        if (!whole) continue;
        whole += IN_TITLE * this.bonus(page.about, terms);
        let best = null;
        let top = -1;
        for (const section of page.sections) {
          const share = /^(Exercises?|Solution \d+|In the reference|Read more)$/.test(section.heading) ? 0.5 : 1;
          const words = this.score(section.counts, section.length, this.sectionLength, terms);
          const score = share * (words + IN_HEADING * this.bonus(section.about, terms));
          if (score > top) [best, top] = [section, score];
        }
        results.push({ page, section: best, score: weightOf(page.name) * (isAbout(page) ? 1 : OTHER_METHOD) * (whole + top) });
      }
      results.sort((a, b) => b.score - a.score || (a.page.name < b.page.name ? -1 : 1));
      return { terms, results: results.filter(({ score }) => score > 0.15 * results[0].score).slice(0, 30) };
    }
  }

  const mean = (many) => many.reduce((sum, { length }) => sum + length, 0) / Math.max(many.length, 1);

  const METHOD_STEMS = new Set(METHODS.map(stemOf));

  // For each stem, the stems of other words for it.
  const OTHERS = new Map();
  for (const line of SYNONYMS) {
    const group = [...new Set(line.split(" ").map(stemOf))];
    for (const word of group) {
      const others = OTHERS.get(word) ?? new Map();
      for (const other of group) if (other !== word) others.set(other, SYNONYM);
      OTHERS.set(word, others);
    }
  }

  // The part of a text with the most words that were typed, and whether each piece of it is one of them.
  const excerpt = (text, terms) => {
    const wanted = new Set(terms.flatMap((words) => [...words.keys()]));
    const pieces = text.split(/(\s+)/);
    const marks = pieces.map((piece) => wordsOf(piece).some((word) => wanted.has(word)));
    const size = 60; // words and the blanks between them
    let [first, most, inside] = [0, -1, 0];
    for (let end = 0; end < pieces.length; end++) {
      inside += marks[end];
      if (end >= size) inside -= marks[end - size];
      if (inside > most) [first, most] = [Math.max(0, end - size + 1), inside];
    }
    const shown = pieces.slice(first, first + size).map((piece, i) => [piece, marks[first + i]]);
    return { shown, before: first > 0, after: first + size < pieces.length };
  };

  const element = (parent, tag, text = "") => {
    const made = parent.appendChild(document.createElement(tag));
    if (text) made.textContent = text;
    return made;
  };

  const show = ({ page, section }, terms, list) => {
    const item = element(list, "li");
    const link = element(item, "a", page.title || page.name);
    link.href = `${page.name}.html${section.anchor ? `#${section.anchor}` : ""}`;
    if (section.anchor && section.heading && section.heading !== page.title)
      element(item, "span", ` › ${section.heading}`);
    const { shown, before, after } = excerpt(section.text, terms);
    const said = element(item, "p");
    if (before) said.append("… ");
    for (const [piece, marked] of shown) marked ? element(said, "mark", piece) : said.append(piece);
    if (after) said.append(" …");
  };

  let index = null;
  Search.performSearch = (typed) => {
    const out = document.getElementById("search-results");
    index ??= new SectionIndex(SECTIONS);
    const { terms, results } = index.search(typed);
    element(out, "h2", "Search results");
    const said = element(out, "p");
    said.className = "search-summary";
    said.setAttribute("role", "status");
    said.textContent = results.length
      ? `Found ${results.length === 1 ? "one page" : `${results.length} pages`}, the best match first.`
      : "No page matches. Try other words.";
    const list = element(out, "ul");
    list.className = "search";
    list.setAttribute("role", "list");
    for (const result of results) show(result, terms, list);
  };
})();
