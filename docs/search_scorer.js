// Ranking of the site's search: headings with the words of the query first, then guides and answers. Results come last, and
// so do classes of modules below sureline, which often have the names of estimators.
var Scorer = {
  score: ([docname, title, anchor, description, score, filename, kind]) => {
    if (kind === "title") score += 20;
    if (docname === "questions" || docname.startsWith("guide/")) score += 2;
    if (docname.startsWith("results/") || /^reference\/generated\/sureline\.\w+\./.test(docname)) score -= 4;
    return score;
  },
  // The values below are those of Sphinx.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
