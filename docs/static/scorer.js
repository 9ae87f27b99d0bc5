// How search results are ordered: pages that show how to do a thing come before those that mention it.
var Scorer = {
  score: (result) => (result[0].startsWith("howto_") ? result[4] + 1000 : result[4]),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
