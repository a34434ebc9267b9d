; Written by editors/grammar.py (`make docs`): do not edit.

(comment) @comment
(string) @string
[(integer) (float)] @constant.numeric
[(true) (false)] @constant.builtin.boolean

["use"] @keyword.import
["block" "model" "op"] @keyword.function
["width" "depth" "const" "param" "config"] @keyword.type
["if" "else"] @keyword.conditional
["repeat" "scan"] @keyword.repeat
["return"] @keyword.return
["share" "expect" "as" "like" "in" "causal" "trusted" "shared" "ragged" "frozen"] @keyword
["and" "or" "not" "where"] @keyword.operator

["->" "|>" "<=" ">=" "==" "!=" "<" ">" "+" "-" "*" "/" "%" "^" "=" "~" "|"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter

(path (identifier) @module)
(block name: (identifier) @function)
(op name: (identifier) @function)
(config name: (identifier) @label)
(formal name: (identifier) @variable.parameter)
(argument name: (identifier) @variable.parameter)
(axis name: (identifier) @type)
(axis like: (identifier) @type)
(generic name: (identifier) @type)
(generic like: (identifier) @type)
(type of: (identifier) @type.builtin (#match? @type.builtin "^(bool|int|real)$"))
(type of: (identifier) @type (#not-match? @type "^(bool|int|real)$"))
(type axis: (identifier) @type)
(result axis: (identifier) @type)
(brackets (identifier) @type)
(renamed (identifier) @type)
(selected axis: (identifier) @type)
(size (identifier) @type)
(const name: (identifier) @constant)
(setting name: (identifier) @constant)
(param name: (identifier) @property)
(init name: (identifier) @function.builtin)

(call op: (identifier) @function.builtin (#match? @function.builtin "^(abs|all|and|any|argmax|argsort|broadcast|ceil|clamp|concat|cos|cross_entropy|cummax|cumsum|dot|dropout|embed|erf|exp|expm1|flip|floor|gelu|gelu_tanh|index|int|l2norm|layernorm|linear|log|log1p|log_softmax|logcumsumexp|logsumexp|max|mean|merge|min|not|or|pad|raw|relu|rmsnorm|rsqrt|scan|select|sigmoid|silu|sin|softmax|softplus|split|sqrt|stop_gradient|sum|tanh|topk|valid|window)$"))
(call op: (identifier) @function.call (#not-match? @function.call "^(abs|all|and|any|argmax|argsort|broadcast|ceil|clamp|concat|cos|cross_entropy|cummax|cumsum|dot|dropout|embed|erf|exp|expm1|flip|floor|gelu|gelu_tanh|index|int|l2norm|layernorm|linear|log|log1p|log_softmax|logcumsumexp|logsumexp|max|mean|merge|min|not|or|pad|raw|relu|rmsnorm|rsqrt|scan|select|sigmoid|silu|sin|softmax|softplus|split|sqrt|stop_gradient|sum|tanh|topk|valid|window)$"))
(scan op: (identifier) @function.call)
(call label: (identifier) @property)
(scan label: (identifier) @property)
(repeat label: (identifier) @property)
