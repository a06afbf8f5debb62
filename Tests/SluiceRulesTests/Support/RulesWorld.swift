import SluiceJSON
import SluiceModel
import SluiceQuery
import TestSupport

@testable import SluiceRules

/// Users, teams and documents in memory.
final class RulesWorld: ObjectSource, RuledObjects {
    static let schema = RulesSchema.schema

    let schema: Schema
    private(set) var rows: [ObjectRef: Row] = [:]

    init(schema: Schema = RulesWorld.schema) { self.schema = schema }

    /// The position of a class.
    static func index(_ name: String) -> Int {
        guard let index = schema.index(of: name) else { preconditionFailure("there is no class \(name)") }
        return index
    }

    @discardableResult
    func add(_ className: String, _ key: ObjectKey, _ values: [String: Value] = [:]) -> Row {
        let index = Self.index(className)
        let declared = schema[index]
        var row = Row(key: key, version: 1, values: declared.properties.map { $0.defaultValue })
        if let position = declared.primaryKeyIndex { row.values[position] = key.value }
        for (name, value) in values {
            guard let position = declared.index(of: name) else { preconditionFailure("no property \(name)") }
            row.values[position] = value
        }
        rows[ObjectRef(index, key)] = row
        return row
    }

    func objects(named className: String) -> [ObjectKey: Row] {
        let index = Self.index(className)
        return Dictionary(
            uniqueKeysWithValues: rows.filter { $0.key.classIndex == index }.map { ($0.key.key, $0.value) })
    }

    /// The keys of all objects of a class that a condition allows, as a person would write them, sorted.
    func allowed(_ condition: BoundCondition?, _ className: String) throws -> [String] {
        guard let condition else { return [] }
        return try rows.filter { $0.key.classIndex == Self.index(className) }.values
            .filter { try condition.allows($0, in: self) }.map(\.key.description).sorted()
    }

    /// The keys of the results of a fact.
    func keys(_ query: Query) throws -> [ObjectKey] {
        let evaluator = Evaluator(query, schema: schema)
        let matches = try rows.filter { $0.key.classIndex == query.classIndex }.values
            .filter { try evaluator.matches($0, in: self) }.map(\.key).sorted()
        return Array(matches.prefix(query.limit ?? .max))
    }

    /// Binds rules as the server does: it asks for facts until none is new.
    func bind(_ rules: Rules, _ user: RuleUser, client: ClientVariables = [:]) throws -> Binding {
        var results: RuleFactResults = [:]
        while true {
            let new = rules.facts(of: user, client: client, given: results).filter { results[$0.id] == nil }
            if new.isEmpty { return rules.bind(user, client: client, facts: results) }
            for fact in new { results[fact.id] = try keys(fact.query) }
        }
    }

    // MARK: ObjectSource

    var now: Timestamp { Timestamp(microseconds: 0) }

    func row(_ object: ObjectRef) throws -> Row? { rows[object] }

    func isPresent(_ object: ObjectRef) throws -> Bool { rows[object] != nil }

    func backlinks(
        to object: ObjectRef, fromClass classIndex: Int, property: Int, _ body: (ObjectKey) throws -> Bool
    ) throws {
        for (ref, row) in rows where ref.classIndex == classIndex {
            let links: [Value] =
                switch row.values[property] {
                case .list(let elements), .set(let elements): elements
                case let value: [value]
                }
            if links.contains(.link(object.key)), try !body(row.key) { return }
        }
    }
}

extension RuleUser {
    /// A user with claims as JSON text.
    init(_ id: String?, _ claims: String = "{}") throws { self.init(id: id, claims: try JSONParser.parse(claims)) }
}

extension Rules {
    convenience init(_ text: String, schema: Schema = RulesWorld.schema) throws {
        self.init(try RulesFile(text), schema: schema)
    }
}
