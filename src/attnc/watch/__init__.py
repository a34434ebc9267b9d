"""`attnc watch`: a page on this machine that follows a spec as it is written.

changes   whether a file, or what it uses, is another one than before
following what is shown: checked anew at each change, the last that was right kept where there are mistakes
parts     the figure, the code, the cost of a model, as text
server    the page, to browsers of this machine alone
"""
