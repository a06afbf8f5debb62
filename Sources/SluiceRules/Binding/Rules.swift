package import SluiceModel
internal import SluiceQuery

/// A rules file, compiled for a schema: says what a user may do.
///
/// A class without rules is denied, and so is an action without one. A rule that names what the schema lacks allows
/// nothing until the schema has it: compile the file again when the schema grows.
package final class Rules: Sendable {
    package let file: RulesFile
    package let schema: Schema
    private let document: RulesDocument
    private let denial: ReadDenial
    private let never: [BoundCondition?]
    /// The rules of the classes that the schema has, by position.
    private let classes: [Int: CompiledClass]
    /// The variables that any rule names.
    private let variables: [VariableSyntax]
    private let lists: PermissionListLayout?

    package init(_ file: RulesFile, schema: Schema) {
        self.file = file
        self.schema = schema
        document = file.document
        let denial = ReadDenial(schema)
        self.denial = denial
        never = schema.classes.indices.map { index in
            denial.condition(ofClass: index).map { BoundCondition($0, schema: schema) }
        }
        var classes: [Int: CompiledClass] = [:]
        for (name, written) in document.classes {
            guard let index = schema.index(of: name) else { continue }
            let read = document.readPredicate(ofClass: name, schema: schema)
            classes[index] = CompiledClass(
                written, classIndex: index, read: read, schema: schema,
                hasDatabaseList: document.databaseLists != nil)
        }
        self.classes = classes
        var variables: [VariableSyntax] = []
        for variable in classes.sorted(by: { $0.key < $1.key }).flatMap(\.value.variables)
        where !variables.contains(variable) {
            variables.append(variable)
        }
        self.variables = variables
        lists = PermissionListLayout(document, schema: schema)
    }

    /// The queries whose results decide what a user may do, as far as they are known: a query that depends on the
    /// results of another is among them once those are given. Ask again until nothing is new.
    ///
    /// - Parameters:
    ///   - client: the values of `$client`.
    ///   - results: the results of the facts that were asked for before.
    package func facts(
        of user: RuleUser, client: ClientVariables = [:], given results: RuleFactResults = [:]
    ) -> [RuleFact] {
        let resolution = Resolution(document, schema: schema, user: user, client: client, results: results)
        resolve(resolution)
        return resolution.facts
    }

    /// Looks at everything that may depend on facts.
    private func resolve(_ resolution: Resolution) {
        for variable in variables { _ = resolution.value(variable) }
        for right in DatabaseRight.allCases {
            if let condition = document.database[right] { _ = resolution.isTrue(condition, named: Self.right) }
        }
        for (_, compiled) in classes.sorted(by: { $0.key < $1.key }) {
            for (_, condition) in compiled.fieldReads.sorted(by: { $0.key < $1.key }) {
                _ = resolution.isTrue(condition, named: Self.right)
            }
        }
        for (name, _) in document.roles { _ = resolution.value(VariableSyntax(.role, [name])) }
    }

    /// What facts that are not of a variable are called.
    private static let right = VariableSyntax(.user, ["rights"])

    /// The rules as they hold for a user.
    ///
    /// - Parameters:
    ///   - client: the values of `$client`.
    ///   - results: the results of the facts; what depends on a missing one is denied.
    package func bind(
        _ user: RuleUser, client: ClientVariables = [:], facts results: RuleFactResults = [:]
    ) -> Binding {
        let resolution = Resolution(document, schema: schema, user: user, client: client, results: results)
        resolve(resolution)
        let values = resolution.values
        let bound = Dictionary(
            uniqueKeysWithValues: classes.map { index, compiled in
                (index, compiled.bound(values, resolution, Self.right, never: never[index]))
            })
        let reads = ReadContext(
            rules: bound.values.compactMap { $0.conditions[.read]?.query }, veils: bound.mapValues(\.veil),
            denying: denial)
        let rights = DatabaseRight.allCases.filter { right in
            document.database[right].map { resolution.isTrue($0, named: Self.right) == true } ?? false
        }
        let used = variables.sorted { $0.description < $1.description }
        let decided = used.map { "\($0) \((values[$0] ?? .unknown).text)" } + rights.map(\.rawValue)
        return Binding(
            id: SHA256.truncatedID(of: Array("\(file.hash) \(reads.id) \(decided.joined(separator: " "))".utf8)),
            rulesHash: file.hash, reads: reads, rights: Set(rights),
            roles: document.roles.map(\.name).filter {
                resolution.value(VariableSyntax(.role, [$0])) == .one(.value(.bool(true)))
            }.sorted(),
            setSizes: document.sets.compactMap { set in
                guard case .members(_, let keys)? = values[VariableSyntax(.user, [set.name])] else { return nil }
                return (set.name, keys.count)
            }.sorted { $0.name < $1.name },
            facts: resolution.facts, isComplete: resolution.isComplete, classes: bound, never: never,
            lists: lists)
    }
}
