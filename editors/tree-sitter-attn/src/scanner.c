// Which newlines end a statement: those before anything that no line can go on with (dsl/layout.py). The grammar itself asks
// for none inside ( ) and [ ], nor after an operator.

#include "tree_sitter/parser.h"

#include <string.h>

enum { NEWLINE, ERROR };

void *tree_sitter_attn_external_scanner_create(void) { return NULL; }
void tree_sitter_attn_external_scanner_destroy(void *none) { (void)none; }
unsigned tree_sitter_attn_external_scanner_serialize(void *none, char *into) { return (void)none, (void)into, 0; }
void tree_sitter_attn_external_scanner_deserialize(void *none, const char *from, unsigned length) {
  (void)none, (void)from, (void)length;
}

static bool in_word(int32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether what comes next goes on with the line before it.
static bool joins(TSLexer *lexer) {
  int32_t first = lexer->lookahead;
  if (in_word(first)) {
    char word[6];
    unsigned length = 0;
    for (; in_word(lexer->lookahead); lexer->advance(lexer, false)) {
      if (length < sizeof word) word[length++] = (char)lexer->lookahead;
    }
    const char *const joining[] = {"where", "and", "or", "else"};
    for (unsigned k = 0; k < 4; k++) {
      if (strlen(joining[k]) == length && strncmp(joining[k], word, length) == 0) return true;
    }
    return false;
  }
  if (first == '|' || first == '!') {
    lexer->advance(lexer, false);
    return lexer->lookahead == (first == '|' ? '>' : '=');
  }
  return first > 0 && first < 128 && strchr("-+*/^%<>=,~{})]", (int)first) != NULL;
}

bool tree_sitter_attn_external_scanner_scan(void *none, TSLexer *lexer, const bool *valid) {
  (void)none;
  if (!valid[NEWLINE] || valid[ERROR]) return false;
  bool found = false;
  lexer->mark_end(lexer);
  for (;;) {
    if (lexer->lookahead == '#') {
      while (lexer->lookahead != '\n' && !lexer->eof(lexer)) lexer->advance(lexer, false);
    } else if (lexer->lookahead == ' ' || lexer->lookahead == '\t' || lexer->lookahead == '\r' || lexer->lookahead == '\n') {
      found = found || lexer->lookahead == '\n';
      lexer->advance(lexer, false);
    } else {
      break;
    }
  }
  if (!found || joins(lexer)) return false;
  lexer->result_symbol = NEWLINE;
  return true;
}
