package import SluiceModel

/// A recursive-descent parser of the query language.
struct Parser {
    private let text: [UInt8]
    private let tokens: [Token]
    private var index = 0
    let arguments: Arguments
    private var argumentsTaken = 0
    /// The numbers of the arguments that the text names.
    private var argumentsUsed: Set<Int> = []
    /// The variables of the enclosing subqueries, the innermost last.
    var variables: [String] = []
    /// Whether the text is a rule's, which has variables of its own.
    let isOfRule: Bool
    /// Whether the limits on lists, constants and text hold.
    let isLimited: Bool
    private var depth = 0
    private var nodeCount = 0
    private var constantCount = 0

    /// The values of `$0`, `$1` …
    enum Arguments {
        /// - areTextsUntyped: whether a string takes the type of what it is compared with, also as an element of a list:
        ///   in JSON it stands for every value that JSON has no form of its own for.
        case values([Value], areTextsUntyped: Bool = false)
        /// Texts that take the types of what they are compared with; all must be used.
        case texts([String])

        var count: Int {
            switch self {
            case .values(let values, _): values.count
            case .texts(let texts): texts.count
            }
        }

        /// Whether numbers are texts, too.
        var areAllTexts: Bool { if case .texts = self { true } else { false } }

        subscript(number: Int) -> LiteralSyntax.Kind {
            switch self {
            case .values(let values, _): kind(of: values[number])
            case .texts(let texts): .untyped(texts[number])
            }
        }

        /// What a value is as a constant: an argument, or an element of one that is a list.
        func kind(of value: Value) -> LiteralSyntax.Kind {
            if case .values(_, areTextsUntyped: true) = self, case .string(let text) = value { return .untyped(text) }
            return .value(value)
        }
    }

    init(_ text: String, arguments: Arguments, isOfRule: Bool = false, isLimited: Bool = true) throws(QueryError) {
        self.text = Array(text.utf8)
        self.isOfRule = isOfRule
        self.isLimited = isLimited
        self.arguments = arguments
        tokens = try Lexer.tokens(of: text, isLimited: isLimited)
    }

    // MARK: Tokens

    var token: Token { tokens[index] }

    func peek(_ offset: Int = 1) -> Token { tokens[min(index + offset, tokens.count - 1)] }

    mutating func advance() { index = min(index + 1, tokens.count - 1) }

    mutating func skip(_ symbol: StaticString) -> Bool {
        guard token.isSymbol(symbol) else { return false }
        advance()
        return true
    }

    mutating func expect(_ symbol: StaticString, _ role: String) throws(QueryError) {
        guard skip(symbol) else { throw unexpected("'\(symbol)' \(role)") }
    }

    /// The error for the current token where something else is expected.
    func unexpected(_ expectation: String) -> QueryError {
        QueryError(.syntax, "found \(describe(token)), expected \(expectation)", at: token.position)
    }

    /// A hint at the keyword that the current token may stand for; empty if none is similar.
    func hint(among keywords: [String]) -> String {
        guard case .identifier(let name, isEscaped: false) = token.kind else { return "" }
        return NearestName.find(name, among: keywords).map { "; did you mean '\($0)'?" } ?? ""
    }

    func describe(_ token: Token) -> String {
        if token.isEnd { return "the end of the query" }
        let source = String(decoding: text[token.range], as: UTF8.self)
        return source.count > 32 ? "'\(source.prefix(32))…'" : "'\(source)'"
    }

    // MARK: Limits

    mutating func enter() throws(QueryError) {
        depth += 1
        guard depth <= QueryLimits.depthMax else {
            throw QueryError(
                .limitExceeded, "conditions are nested more than \(QueryLimits.depthMax) deep", at: token.position)
        }
    }

    mutating func leave() { depth -= 1 }

    mutating func countNode() throws(QueryError) {
        nodeCount += 1
        guard nodeCount <= QueryLimits.nodeCountMax else {
            throw QueryError(
                .limitExceeded, "the query has more than \(QueryLimits.nodeCountMax) conditions", at: token.position)
        }
    }

    mutating func countConstant() throws(QueryError) {
        constantCount += 1
        guard constantCount <= QueryLimits.constantCountMax || !isLimited else {
            throw QueryError(
                .limitExceeded, "the query has more than \(QueryLimits.constantCountMax) constants", at: token.position)
        }
    }

    // MARK: Arguments

    /// Skips an argument and returns its value.
    mutating func takeArgument() throws(QueryError) -> LiteralSyntax.Kind {
        let position = token.position
        let number: Int
        switch token.kind {
        case .argument(let written), .pathArgument(let written): number = written
        default:
            number = argumentsTaken
            argumentsTaken += 1
        }
        guard number < arguments.count else {
            let given = arguments.count == 1 ? "1 is given" : "\(arguments.count) are given"
            throw QueryError(.missingArgument, "argument $\(number) is missing: \(given)", at: position)
        }
        advance()
        argumentsUsed.insert(number)
        return arguments[number]
    }

    /// Refuses a text argument that the query does not use.
    func checkArgumentsAreUsed() throws(QueryError) {
        guard case .texts(let texts) = arguments else { return }
        if let unused = texts.indices.first(where: { !argumentsUsed.contains($0) }) {
            let given = texts.count == 1 ? "1 argument is given" : "\(texts.count) arguments are given"
            throw QueryError(.missingArgument, "\(given), and the query does not use $\(unused)", at: text.count)
        }
    }

    /// Fails if an interpolated argument is not one of the text.
    func checkAreUsed(_ interpolated: Range<Int>) throws(QueryError) {
        guard let unused = interpolated.first(where: { !argumentsUsed.contains($0) }) else { return }
        throw QueryError(
            .missingArgument,
            "the interpolated value $\(unused) is no operand here; it stands where a constant does, without quotes",
            at: nil)
    }
}

extension QuerySyntax {
    /// Parses a query without checking it, see ``Query/parse(_:className:arguments:schema:)``.
    ///
    /// - Parameters:
    ///   - areTextsUntyped: whether strings among the arguments take the types of what they are compared with.
    ///   - interpolated: the arguments that the text must use, since its author has interpolated them.
    ///   - isLimited: whether the limits on lists, constants and text hold, as they must for a client's text.
    package static func parse(
        _ text: String, className: String? = nil, arguments: [Value] = [], areTextsUntyped: Bool = false,
        interpolated: Range<Int> = 0..<0, isLimited: Bool = true
    ) throws(QueryError) -> QuerySyntax {
        var parser = try Parser(
            text, arguments: .values(arguments, areTextsUntyped: areTextsUntyped), isLimited: isLimited)
        let syntax = try parser.query(className: className)
        try parser.checkAreUsed(interpolated)
        return syntax
    }

    /// Parses a rule's condition or query, which may have variables.
    ///
    /// - Parameter className: the class that the condition is about, when `text` does not name it.
    package static func parse(ruleText text: String, className: String? = nil) throws(QueryError) -> QuerySyntax {
        var parser = try Parser(text, arguments: .values([]), isOfRule: true)
        return try parser.query(className: className)
    }

    /// Parses a query whose arguments are texts, which take the types of what they are compared with.
    ///
    /// - Throws: `missingArgument` if there is one argument too few or too many.
    package static func parse(_ text: String, textArguments: [String]) throws(QueryError) -> QuerySyntax {
        var parser = try Parser(text, arguments: .texts(textArguments))
        let syntax = try parser.query(className: nil)
        try parser.checkArgumentsAreUsed()
        return syntax
    }
}
