"""Small judgments and results as text, and the number that every file of them has."""

from oracle import ndcg

from ndcg_spark import Convention

GRADES = {"1": {"10": 3, "11": 0, "12": 1}, "2": {"10": 1, "13": 2}}
SCORES = {"1": {"12": 0.9, "10": 0.8, "11": 0.1}, "2": {"10": 5.5, "13": 4.25}}
MEAN = sum(ndcg(GRADES[query], SCORES[query], 2, Convention()) for query in GRADES) / len(GRADES)


def listed(numbers):
    return [(query, doc, value) for query, docs in numbers.items() for doc, value in docs.items()]


def ranked():
    return [
        (*row, at) for query in SCORES for at, row in enumerate(listed({query: SCORES[query]}), 1)
    ]


def lines(separator, table, *names):
    text = [names, *table] if names else table
    return "".join(separator.join(map(str, row)) + "\n" for row in text)


JUDGED, SCORED, RANKED = listed(GRADES), listed(SCORES), ranked()
QRELS = lines(" ", [(query, 0, doc, grade) for query, doc, grade in JUDGED])
RUN = lines(" ", [(query, "Q0", doc, rank, score, "r") for query, doc, score, rank in RANKED])
