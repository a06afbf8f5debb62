internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery

extension RulesReader {
    /// The text of a condition; reports a value that has none, and one that is too long.
    private mutating func text(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ path: String, _ what: String
    ) -> String? {
        switch value {
        case .bool(let isTrue): return isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .string(let text):
            guard text.utf8.count <= RulesLimits.conditionLengthMax else {
                report(
                    at: node.start, path,
                    "the condition has \(text.utf8.count) bytes; the limit is \(RulesLimits.conditionLengthMax)")
                return nil
            }
            guard text.utf8.contains(where: { $0 > 0x20 }) else {
                report(at: node.start, path, "the condition is empty; write true or false, or leave the member out")
                return nil
            }
            return text
        default:
            report(at: node.start, path, "expected \(what), found \(value.kindName)")
            return nil
        }
    }

    private mutating func report(_ error: QueryError, _ node: JSONPlaces.Node, _ path: String) {
        report(at: places.byte(error.position ?? 0, ofStringAt: node.start), path, error.message)
    }

    private mutating func parsed(
        _ text: String, className: String?, _ node: JSONPlaces.Node, _ path: String
    ) -> QuerySyntax? {
        do throws(QueryError) {
            let syntax = try QuerySyntax.parse(ruleText: text, className: className)
            guard let clause = syntax.clauses.first else { return syntax }
            let message = "a rule has no SORT, LIMIT, DISTINCT or EXCLUDE"
            report(at: places.byte(clause.position ?? 0, ofStringAt: node.start), path, message)
        } catch {
            report(error, node, path)
        }
        return nil
    }

    mutating func query(_ value: JSONValue, _ node: JSONPlaces.Node, _ path: String) -> WrittenQuery? {
        let example = "a query in quotes, such as \"Team WHERE ANY members.id == $user.id\""
        guard case .string = value else {
            report(at: node.start, path, "expected \(example), found \(value.kindName)")
            return nil
        }
        guard let text = text(value, node, path, example),
            let syntax = parsed(text, className: nil, node, path)
        else { return nil }
        guard case .objects = syntax.target else {
            report(at: node.start, path, "expected \(example), found one object by its id")
            return nil
        }
        return WrittenQuery(syntax: syntax, text: text, place: FilePlace(path: path, start: node.start))
    }

    mutating func rule(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ path: String, _ className: String,
        _ action: RuleAction
    ) -> WrittenRule? {
        let place = FilePlace(path: path, start: node.start)
        if case .object(let members) = value {
            guard members.count == 1, case .string(let property) = members[0].value,
                let form = Self.form(members[0].name, property)
            else {
                report(
                    at: node.start, path,
                    "expected a condition in quotes, {\"channels\": \"property\"} or {\"objectList\": \"property\"}")
                return nil
            }
            return WrittenRule(form: form, action: action, text: "{\(members[0].name): \(property)}", place: place)
        }
        guard let text = text(value, node, path, "a condition in quotes, true or false"),
            let syntax = parsed(text, className: className, node, path)
        else { return nil }
        return WrittenRule(form: .condition(syntax.predicate), action: action, text: text, place: place)
    }

    private static func form(_ name: String, _ property: String) -> WrittenRule.Form? {
        switch name {
        case "channels": .channels(property: property)
        case "objectList": .objectList(property: property)
        default: nil
        }
    }

    mutating func userCondition(
        _ value: JSONValue, _ node: JSONPlaces.Node, _ path: String
    ) -> UserCondition? {
        guard let text = text(value, node, path, "a condition in quotes, true or false") else { return nil }
        let place = FilePlace(path: path, start: node.start)
        let words = text.split(maxSplits: 2) { $0.isWhitespace }
        if words.count > 1, words[1].uppercased() == "WHERE", words[0].utf8.first != UInt8(ascii: "$") {
            guard let syntax = parsed(text, className: nil, node, path) else { return nil }
            return UserCondition(form: .query(syntax), text: text, place: place)
        }
        guard let syntax = parsed(text, className: "", node, path) else { return nil }
        let condition = UserCondition(form: .condition(syntax.predicate), text: text, place: place)
        for problem in condition.misplacedPaths {
            report(at: places.byte(problem.position ?? 0, ofStringAt: node.start), path, problem.message)
        }
        return condition
    }
}

extension RulesError {
    /// The problems in the order of the text; of many, the first.
    static func of(_ problems: [(byte: Int, place: String, message: String)], in places: JSONPlaces) -> RulesError {
        let ordered = problems.enumerated().sorted { ($0.element.byte, $0.offset) < ($1.element.byte, $1.offset) }
        return RulesError(
            ordered.prefix(RulesLimits.problemCountMax).map { _, problem in
                let (line, column) = places.position(of: problem.byte)
                return RulesProblem(line: line, column: column, place: problem.place, message: problem.message)
            })
    }
}

extension JSONValue {
    /// What messages call the value.
    var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
