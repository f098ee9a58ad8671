//! The CEL grammar, in the order and shape of cel-go's, which determines the automaton.

use crate::lexer::Kind;

/// A set of token kinds: bit `n` is kind number `n`.
pub(super) type Set = u64;

pub(super) const fn one(kind: Kind) -> Set {
    1 << kind as u8
}

/// Rules, numbered as in cel-go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Rule {
    Start,
    Expr,
    Or,
    And,
    Relation,
    Calc,
    Unary,
    Member,
    Primary,
    ExprList,
    ListInit,
    FieldInitializerList,
    OptField,
    MapInitializerList,
    EscapeIdent,
    OptExpr,
    Literal,
}

pub(super) const RULES: usize = 17;

/// Role of a part in its parent node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    /// No role.
    Plain,
    /// The first operand.
    First,
    /// Further operands.
    Next,
    /// The last operand of a conditional.
    Otherwise,
    /// The operator or the opening bracket.
    Operator,
    /// The question mark of an optional element.
    Optional,
    Name,
    /// The opening parenthesis of a member call.
    Open,
    /// Arguments, elements, entries or fields.
    List,
    /// A key of a map or a field of a message.
    Key,
    /// The colon after a key.
    Colon,
    /// The value after a colon.
    Value,
    /// The minus before a number.
    Sign,
    /// The leading dot of a name.
    LeadingDot,
}

/// A part of a rule.
pub(super) enum Element {
    Token(Set, Label),
    /// Another rule, at a precedence (0 unless the rule is left-recursive).
    Rule(Rule, u8, Label),
    /// An optional part; the next token decides.
    Maybe(&'static [Element]),
    /// Zero or more repetitions; the next token decides.
    Many(&'static [Element]),
    /// Zero or more repetitions; decided with arbitrary lookahead.
    ManyAhead(&'static [Element]),
    /// One or more repetitions; the next token decides.
    Some(&'static [Element]),
    /// One or more repetitions; decided with arbitrary lookahead.
    SomeAhead(&'static [Element]),
}

/// A rule's alternatives. A left-recursive rule also has operators, with their precedence, that can follow
/// the first alternative any number of times.
pub(super) struct Definition {
    pub(super) alternatives: &'static [&'static [Element]],
    pub(super) operators: &'static [(u8, &'static [Element])],
}

const fn token(kind: Kind, label: Label) -> Element {
    Element::Token(one(kind), label)
}

const fn plain(kind: Kind) -> Element {
    Element::Token(one(kind), Label::Plain)
}

const fn rule(rule: Rule, label: Label) -> Element {
    Element::Rule(rule, 0, label)
}

const fn define(alternatives: &'static [&'static [Element]]) -> Definition {
    Definition { alternatives, operators: &[] }
}

/// `<`, `<=`, `>=`, `>`, `==`, `!=`, `in`.
const RELATIONS: Set = 0b1111_1110;
const PRODUCTS: Set = one(Kind::Star) | one(Kind::Slash) | one(Kind::Percent);
const SUMS: Set = one(Kind::Plus) | one(Kind::Minus);

const OPTIONAL: Element = Element::Maybe(&[token(Kind::Question, Label::Optional)]);
const LEADING_DOT: Element = Element::Maybe(&[token(Kind::Dot, Label::LeadingDot)]);
const SIGN: Element = Element::Maybe(&[token(Kind::Minus, Label::Sign)]);
const COMMA: Element = Element::Maybe(&[plain(Kind::Comma)]);
const NAME: Element = token(Kind::Identifier, Label::Name);
const ARGUMENTS: Element = Element::Maybe(&[rule(Rule::ExprList, Label::List)]);

pub(super) const GRAMMAR: [Definition; RULES] = [
    // start
    define(&[&[rule(Rule::Expr, Label::First), plain(Kind::Eof)]]),
    // expr
    define(&[&[
        rule(Rule::Or, Label::First),
        Element::Maybe(&[
            token(Kind::Question, Label::Operator),
            rule(Rule::Or, Label::Next),
            plain(Kind::Colon),
            rule(Rule::Expr, Label::Otherwise),
        ]),
    ]]),
    // conditionalOr
    define(&[&[
        rule(Rule::And, Label::First),
        Element::Many(&[token(Kind::Or, Label::Operator), rule(Rule::And, Label::Next)]),
    ]]),
    // conditionalAnd
    define(&[&[
        rule(Rule::Relation, Label::First),
        Element::Many(&[token(Kind::And, Label::Operator), rule(Rule::Relation, Label::Next)]),
    ]]),
    // relation
    Definition {
        alternatives: &[&[rule(Rule::Calc, Label::First)]],
        operators: &[(
            1,
            &[Element::Token(RELATIONS, Label::Operator), Element::Rule(Rule::Relation, 2, Label::Next)],
        )],
    },
    // calc
    Definition {
        alternatives: &[&[rule(Rule::Unary, Label::First)]],
        operators: &[
            (2, &[Element::Token(PRODUCTS, Label::Operator), Element::Rule(Rule::Calc, 3, Label::Next)]),
            (1, &[Element::Token(SUMS, Label::Operator), Element::Rule(Rule::Calc, 2, Label::Next)]),
        ],
    },
    // unary
    define(&[
        &[rule(Rule::Member, Label::First)],
        &[Element::Some(&[token(Kind::Not, Label::Operator)]), rule(Rule::Member, Label::First)],
        &[Element::SomeAhead(&[token(Kind::Minus, Label::Operator)]), rule(Rule::Member, Label::First)],
    ]),
    // member
    Definition {
        alternatives: &[&[rule(Rule::Primary, Label::First)]],
        operators: &[
            (3, &[token(Kind::Dot, Label::Operator), OPTIONAL, rule(Rule::EscapeIdent, Label::Name)]),
            (
                2,
                &[
                    token(Kind::Dot, Label::Operator),
                    NAME,
                    token(Kind::LeftParen, Label::Open),
                    ARGUMENTS,
                    plain(Kind::RightParen),
                ],
            ),
            (
                1,
                &[
                    token(Kind::LeftBracket, Label::Operator),
                    OPTIONAL,
                    rule(Rule::Expr, Label::Next),
                    plain(Kind::RightBracket),
                ],
            ),
        ],
    },
    // primary
    define(&[
        &[LEADING_DOT, NAME],
        &[LEADING_DOT, NAME, token(Kind::LeftParen, Label::Operator), ARGUMENTS, plain(Kind::RightParen)],
        &[plain(Kind::LeftParen), rule(Rule::Expr, Label::First), plain(Kind::RightParen)],
        &[
            token(Kind::LeftBracket, Label::Operator),
            Element::Maybe(&[rule(Rule::ListInit, Label::List)]),
            COMMA,
            plain(Kind::RightBracket),
        ],
        &[
            token(Kind::LeftBrace, Label::Operator),
            Element::Maybe(&[rule(Rule::MapInitializerList, Label::List)]),
            COMMA,
            plain(Kind::RightBrace),
        ],
        &[
            LEADING_DOT,
            NAME,
            Element::Many(&[plain(Kind::Dot), NAME]),
            token(Kind::LeftBrace, Label::Operator),
            Element::Maybe(&[rule(Rule::FieldInitializerList, Label::List)]),
            COMMA,
            plain(Kind::RightBrace),
        ],
        &[rule(Rule::Literal, Label::First)],
    ]),
    // exprList
    define(&[&[
        rule(Rule::Expr, Label::Next),
        Element::Many(&[plain(Kind::Comma), rule(Rule::Expr, Label::Next)]),
    ]]),
    // listInit
    define(&[&[
        rule(Rule::OptExpr, Label::Next),
        Element::ManyAhead(&[plain(Kind::Comma), rule(Rule::OptExpr, Label::Next)]),
    ]]),
    // fieldInitializerList
    define(&[&[
        rule(Rule::OptField, Label::Key),
        token(Kind::Colon, Label::Colon),
        rule(Rule::Expr, Label::Value),
        Element::ManyAhead(&[
            plain(Kind::Comma),
            rule(Rule::OptField, Label::Key),
            token(Kind::Colon, Label::Colon),
            rule(Rule::Expr, Label::Value),
        ]),
    ]]),
    // optField
    define(&[&[OPTIONAL, rule(Rule::EscapeIdent, Label::Name)]]),
    // mapInitializerList
    define(&[&[
        rule(Rule::OptExpr, Label::Key),
        token(Kind::Colon, Label::Colon),
        rule(Rule::Expr, Label::Value),
        Element::ManyAhead(&[
            plain(Kind::Comma),
            rule(Rule::OptExpr, Label::Key),
            token(Kind::Colon, Label::Colon),
            rule(Rule::Expr, Label::Value),
        ]),
    ]]),
    // escapeIdent
    define(&[&[NAME], &[token(Kind::EscapedIdentifier, Label::Name)]]),
    // optExpr
    define(&[&[OPTIONAL, rule(Rule::Expr, Label::First)]]),
    // literal
    define(&[
        &[SIGN, token(Kind::Int, Label::Name)],
        &[token(Kind::Uint, Label::Name)],
        &[SIGN, token(Kind::Float, Label::Name)],
        &[token(Kind::String, Label::Name)],
        &[token(Kind::Bytes, Label::Name)],
        &[token(Kind::True, Label::Name)],
        &[token(Kind::False, Label::Name)],
        &[token(Kind::Null, Label::Name)],
    ]),
];

/// The only rule whose alternatives are chosen by the next token; all other choices use prediction.
pub(super) const DECIDED_BY_ONE_TOKEN: Rule = Rule::EscapeIdent;

/// Returns the name of a token kind in lists of expected tokens.
pub(super) fn display(kind: u8) -> &'static str {
    const NAMES: [&str; 38] = [
        "<EOF>",
        "'=='",
        "'!='",
        "'in'",
        "'<'",
        "'<='",
        "'>='",
        "'>'",
        "'&&'",
        "'||'",
        "'['",
        "']'",
        "'{'",
        "'}'",
        "'('",
        "')'",
        "'.'",
        "','",
        "'-'",
        "'!'",
        "'?'",
        "':'",
        "'+'",
        "'*'",
        "'/'",
        "'%'",
        "'true'",
        "'false'",
        "'null'",
        "WHITESPACE",
        "COMMENT",
        "NUM_FLOAT",
        "NUM_INT",
        "NUM_UINT",
        "STRING",
        "BYTES",
        "IDENTIFIER",
        "ESC_IDENTIFIER",
    ];
    NAMES[kind as usize]
}
