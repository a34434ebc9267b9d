"""What the playground's page asks of attnc in the browser, and what it is told: text in, text out, nothing else.

answers   a question as JSON to an answer as JSON
found     mistakes and their fixes as data, places as the page counts them
judging   whether a puzzle is solved: it checks, nothing locked was changed, and its numbers are those of the solution
puzzles   the puzzles, as data
views     which item of a result hangs on which item of an input
bundle    a spec and its figure, as files for a paper
"""
