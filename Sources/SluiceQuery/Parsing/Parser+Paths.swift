internal import SluiceModel

extension Parser {
    /// Parses a path of names, indexes and operations.
    mutating func path(quantifier: PathSyntax.Quantifier?, position: Int) throws(QueryError) -> PathSyntax {
        var components: [PathSyntax.Component] = []
        repeat {
            try component(into: &components)
            while token.isSymbol("[") { components.append(try subscription()) }
            guard components.count <= QueryLimits.pathLengthMax else {
                throw QueryError(
                    .limitExceeded, "a path has more than \(QueryLimits.pathLengthMax) components", at: position)
            }
        } while skip(".")
        return PathSyntax(components, quantifier: quantifier, position: position)
    }

    private mutating func component(into components: inout [PathSyntax.Component]) throws(QueryError) {
        let position = token.position
        switch token.kind {
        case .identifier(let name, _):
            advance()
            components.append(.init(.property(name), position: position))
        case .variable(let name):
            guard components.isEmpty else { throw unexpected("the name of a property") }
            guard variables.contains(where: { UTF8Order.equal($0, name) }) else {
                throw unknownVariable(name, at: position)
            }
            advance()
            components.append(.init(.variable(name), position: position))
        case .pathArgument, .nextPathArgument:
            let path: String
            switch try takeArgument() {
            case .value(.string(let text)), .untyped(let text): path = text
            default: throw QueryError(.typeMismatch, "the argument of a path must be a string", at: position)
            }
            guard !path.isEmpty else {
                throw QueryError(.typeMismatch, "the argument of a path must not be empty", at: position)
            }
            for name in path.split(separator: ".", omittingEmptySubsequences: false) {
                components.append(.init(.property(String(name)), position: position))
            }
        case .symbol("@"):
            advance()
            guard case .identifier(let name, _) = token.kind else { throw unexpected("an operation after '@'") }
            advance()
            guard name == "links", token.isSymbol("."), !peek().isSymbol("@") else {
                components.append(.init(.operation(name), position: position))
                return
            }
            advance()
            let classPosition = token.position
            let className = try self.name("the name of a class after @links")
            try expect(".", "after the class of @links")
            let propertyPosition = token.position
            let property = try self.name("the name of a link property after the class of @links")
            var component = PathSyntax.Component(
                .backlink(className: className, property: property), position: position)
            component.classPosition = classPosition
            component.propertyPosition = propertyPosition
            components.append(component)
        default:
            throw unexpected("the name of a property")
        }
    }

    private mutating func name(_ expectation: String) throws(QueryError) -> String {
        guard case .identifier(let name, _) = token.kind else { throw unexpected(expectation) }
        advance()
        return name
    }

    /// Parses `[0]`, `['key']`, `[FIRST]`, `[*]` or `[$0]`.
    private mutating func subscription() throws(QueryError) -> PathSyntax.Component {
        let position = token.position
        advance()
        let kind: PathSyntax.Component.Kind
        switch token.kind {
        case .number(let digits):
            guard let index = Int(digits) else { throw unexpected("a whole number in '[…]'") }
            kind = .index(index)
            advance()
        case .string(let key):
            kind = .key(key)
            advance()
        case .symbol("*"):
            kind = .named("*")
            advance()
        case .identifier:
            guard let keyword = token.keyword, ["FIRST", "LAST", "SIZE"].contains(keyword) else {
                throw unexpected("a number, a key in quotes, FIRST, LAST, SIZE or '*' in '[…]'")
            }
            kind = .named(keyword)
            advance()
        case .argument, .nextArgument:
            let start = token.position
            switch try takeArgument() {
            case .value(.int(let number)): kind = .index(Int(number))
            case .value(.string(let key)): kind = .key(key)
            case .untyped(let key) where !arguments.areAllTexts: kind = .key(key)
            case .untyped(let text): kind = Int(text).map { .index($0) } ?? .key(text)
            default: throw QueryError(.typeMismatch, "the argument in '[…]' must be a number or a string", at: start)
            }
        default:
            throw unexpected("a number, a key in quotes, FIRST, LAST, SIZE or '*' in '[…]'")
        }
        try expect("]", "to close '['")
        return PathSyntax.Component(kind, position: position)
    }
}
