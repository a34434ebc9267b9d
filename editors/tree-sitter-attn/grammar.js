// The language of dsl/grammar.lark, rule by rule, for editors that colour with tree-sitter.
//
// What dsl/layout.py does before that grammar (which newlines end a statement) is src/scanner.c here. A reserved word where no
// such word may stand is taken for a name: that a name may not be called so is for `attnc lsp` to say.

const listed = (rule) => seq(rule, repeat(seq(",", rule)));
const listedAtEase = (rule) => seq(listed(rule), optional(","));

module.exports = grammar({
  name: "attn",
  externals: ($) => [$._newline, $._error],
  extras: ($) => [/[ \t\r\n\uFEFF]/, $.comment],
  word: ($) => $.identifier,
  supertypes: ($) => [$.item, $.statement, $.expression],
  inline: ($) => [$._callee, $._arguments],

  rules: {
    file: ($) => seq(optional($._newline), optional(seq($.item, repeat(seq($._newline, $.item)), optional($._newline)))),

    item: ($) => choice($.use, $.axes, $.consts, $.param, $.config, $.op, $.block),

    use: ($) => seq("use", field("path", $.path), optional(seq(":", listed($.used)))),
    path: ($) => seq($.identifier, repeat(seq(".", $.identifier))),
    used: ($) => seq(field("name", $.identifier), optional(seq("as", field("alias", $.identifier)))),

    axes: ($) => seq(field("kind", choice("width", "depth")), listed($.axis)),
    axis: ($) =>
      seq(
        field("name", $.identifier),
        optional(seq("as", field("alias", $.identifier))),
        optional(seq("like", field("like", $.identifier))),
        optional(seq(choice("<=", "="), field("size", $._sum))),
        optional("ragged"),
      ),
    consts: ($) => seq("const", listed($.const)),
    const: ($) => seq(field("name", $.identifier), "=", field("value", $._value)),
    param: ($) =>
      seq(
        "param",
        field("name", $.identifier),
        ":",
        field("type", $.type),
        optional(seq("~", $.init)),
        optional("frozen"),
      ),
    init: ($) => seq(field("name", $.identifier), optional($._arguments)),
    config: ($) =>
      seq(
        "config",
        field("name", $.identifier),
        "{",
        optional(seq($.setting, repeat(seq(choice(",", $._newline), $.setting)), optional(choice(",", $._newline)))),
        "}",
      ),
    setting: ($) => seq(field("name", $.identifier), "=", field("value", $._value)),
    numbers: ($) => seq("[", listedAtEase($.expression), "]"),
    _value: ($) => choice($.expression, $.numbers),

    op: ($) =>
      seq("op", field("name", $.identifier), optional($.generics), $.formals, "->", $._results, "=", $.string),
    block: ($) =>
      seq(
        choice("block", "model"),
        field("name", $.identifier),
        optional(seq("as", $.string)),
        optional($.generics),
        $.formals,
        optional(seq("->", $._results)),
        $.body,
      ),
    generics: ($) => seq("[", listedAtEase($.generic), "]"),
    generic: ($) =>
      seq(
        field("name", $.identifier),
        ":",
        field("kind", choice("width", "depth", "const")),
        optional(seq("like", field("like", $.identifier))),
        optional(seq("=", field("size", choice($._sum, $.numbers)))),
      ),
    formals: ($) => seq("(", optional(listedAtEase($.formal)), ")"),
    formal: ($) =>
      seq(
        field("name", $.identifier),
        ":",
        field("type", $.type),
        optional(seq("=", field("default", $.expression))),
      ),
    _results: ($) => choice($.result, seq("(", listedAtEase(alias($.named, $.result)), ")")),
    result: ($) => seq(field("type", $.type), optional(seq("causal", $._axes, optional($._trusted)))),
    named: ($) =>
      seq(
        field("name", $.identifier),
        ":",
        field("type", $.type),
        optional(seq("causal", field("axis", $.identifier), optional($._trusted))),
      ),
    _trusted: ($) => seq("trusted", $.string),
    type: ($) => seq(optional(field("of", $.identifier)), "[", optional($._axes), "]"),
    _axes: ($) => listed(field("axis", $.identifier)),

    body: ($) => seq("{", optional(seq($.statement, repeat(seq($._newline, $.statement)), optional($._newline))), "}"),
    statement: ($) =>
      choice($.assign, $.unpack, $.return, $.expect, $.share, $.repeat, $.if, $.param, $.axes, $.consts),
    assign: ($) =>
      seq(
        field("name", $.identifier),
        optional(seq(":", field("type", $.type))),
        "=",
        field("value", $.expression),
      ),
    unpack: ($) =>
      seq(
        field("name", $.identifier),
        repeat1(seq(",", field("name", $.identifier))),
        "=",
        field("value", $.expression),
      ),
    return: ($) => seq("return", listed($.expression)),
    expect: ($) => seq("expect", field("name", $.identifier), ":", field("type", $.type)),
    share: ($) => seq("share", field("name", $.identifier), "=", field("with", $.identifier)),
    repeat: ($) =>
      seq(
        "repeat",
        optional($._label),
        optional(seq(field("name", $.identifier), "in")),
        field("times", choice($._sum, $.numbers)),
        optional("shared"),
        $.body,
      ),
    if: ($) => seq("if", field("condition", $.expression), $.body, optional(seq("else", choice($.body, $.if)))),

    // Loosest first, as in the grammar of the checker.
    expression: ($) => choice($._pipe, $.where),
    where: ($) => seq($._pipe, "where", $._or),
    _pipe: ($) => choice($._or, $.pipe),
    pipe: ($) => seq($._pipe, "|>", choice(alias($.stage, $.call), $.scan)),
    stage: ($) => seq($._callee, optional($._arguments)),
    _or: ($) => choice($._and, alias($._or_of, $.binary)),
    _or_of: ($) => seq($._or, "or", $._and),
    _and: ($) => choice($._not, alias($._and_of, $.binary)),
    _and_of: ($) => seq($._and, "and", $._not),
    _not: ($) => choice($._comparison, alias($._not_of, $.unary)),
    _not_of: ($) => seq("not", $._not),
    _comparison: ($) => choice($._sum, alias($._compared, $.binary)),
    _compared: ($) => seq($._sum, choice("<=", ">=", "==", "!=", "<", ">"), $._sum),
    _sum: ($) => choice($._product, alias($._sum_of, $.binary)),
    _sum_of: ($) => seq($._sum, choice("+", "-"), $._product),
    _product: ($) => choice($._prefix, alias($._product_of, $.binary)),
    _product_of: ($) => seq($._product, choice("*", "/", "%"), $._prefix),
    _prefix: ($) => choice($._power, alias($._minus, $.unary)),
    _minus: ($) => seq("-", $._prefix),
    _power: ($) => choice($._postfix, alias($._power_of, $.binary)),
    _power_of: ($) => seq($._postfix, "^", $._prefix),
    _postfix: ($) => choice($.identifier, $._based),
    _based: ($) =>
      choice($.index, $.call, $.scan, $.integer, $.float, $.true, $.false, $.size, $.parenthesized),
    index: ($) => seq(field("of", choice($.identifier, $._based)), $.brackets),
    call: ($) => seq($._callee, $._arguments),
    scan: ($) => seq("scan", "[", field("over", $.identifier), "]", $._callee, $._arguments),
    _callee: ($) => seq(field("op", $.identifier), optional($._label), optional($.brackets)),
    _label: ($) => seq(".", field("label", $.identifier)),
    size: ($) => seq("|", $.identifier, "|"),
    parenthesized: ($) => seq("(", $.expression, ")"),
    _arguments: ($) => seq("(", optional(listedAtEase($.argument)), ")"),
    argument: ($) => seq(optional(seq(field("name", $.identifier), "=")), field("value", $.expression)),

    brackets: ($) => seq("[", $._within, optional(seq(":", $._within)), optional(seq("->", $._axes)), "]"),
    _within: ($) => listed($._inside),
    _inside: ($) => choice($.identifier, $.integer, $.float, $.renamed, $.selected, $._at),
    renamed: ($) => seq(field("from", $.identifier), "as", field("to", $.identifier)),
    selected: ($) => seq(field("axis", $.identifier), "=", field("value", $._value)),
    // A computed place in a list: `windows[i % 2]`.
    _at: ($) => choice(alias($._sum_at, $.binary), alias($._product_at, $.binary), $._made_at),
    _sum_at: ($) =>
      seq(
        choice($._first_at, alias($._product_at, $.binary), alias($._sum_at, $.binary)),
        choice("+", "-"),
        $._product,
      ),
    _product_at: ($) => seq(choice($._first_at, alias($._product_at, $.binary)), choice("*", "/", "%"), $._prefix),
    _first_at: ($) => choice($.identifier, $.integer, $.size, $.parenthesized, $._made_at),
    _made_at: ($) => choice(alias($._index_at, $.index), $.call),
    _index_at: ($) => seq(field("of", $.identifier), $.brackets),

    true: () => "true",
    false: () => "false",
    identifier: () => /[A-Za-z_][A-Za-z0-9_]*/,
    float: () => /[0-9]+(\.[0-9]+([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)/,
    integer: () => /[0-9]+/,
    string: () => /"[^"\r\n]*"/,
    comment: () => /#[^\r\n]*/,
  },
});
