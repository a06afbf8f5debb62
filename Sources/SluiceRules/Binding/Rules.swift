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
    /// A condition that allows nothing, for each class.
    let never: [BoundCondition?]
    /// The rules of the classes that the schema has, by position.
    let classes: [Int: CompiledClass]
    /// The variables that any rule names.
    private let variables: [VariableSyntax]
    private let places: VariablePlaces
    /// Where permission lists are; nil if there are none.
    let lists: PermissionListLayout?
    let transitive: TransitiveLinks
    let userClasses: UserClasses
    /// Those that decide what is readable, and the others, sorted.
    private let readVariables: [VariableSyntax]
    private let otherVariables: [VariableSyntax]
    /// The classes of which something may be readable.
    let readable: Set<Int>

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
        places = VariablePlaces(variables)
        transitive = TransitiveLinks(document, schema: schema)
        lists = PermissionListLayout(document, schema: schema)
        userClasses = UserClasses(document, schema: schema)
        let sorted = variables.sorted { $0.description < $1.description }
        let reading = Set(classes.values.flatMap(\.readVariables))
        readVariables = sorted.filter(reading.contains)
        otherVariables = sorted.filter { !reading.contains($0) }
        readable = Set(classes.filter(\.value.isReadable).keys)
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
        let veils = classes.mapValues { $0.veil(resolution, Self.right) }.filter { !$0.value.isEmpty }
        let bound = BoundClasses(self, BoundValues(places, values), veils)
        func decided(_ variables: [VariableSyntax]) -> String {
            variables.map { "\($0) \((values[$0] ?? .unknown).text)" }.joined(separator: " ")
        }
        let hidden = veils.sorted { $0.key < $1.key }
            .map { "\($0.key) \($0.value.hidesIdentity) \(Array($0.value.properties))" }
        let readsID = SHA256.truncatedID(
            of: Array("reads \(file.hash) \(decided(readVariables)) \(hidden.joined(separator: " "))".utf8))
        let reads = ReadContext(ruledBy: bound, id: readsID, veils: veils, denying: denial)
        let rights = DatabaseRight.allCases.filter { right in
            document.database[right].map { resolution.isTrue($0, named: Self.right) == true } ?? false
        }
        let roles = document.roles.map(\.name).filter {
            resolution.value(VariableSyntax(.role, [$0])) == .one(.value(.bool(true)))
        }.sorted()
        // Permission lists ask for roles that no condition names.
        let named = (rights.map(\.rawValue) + (lists == nil ? [] : roles)).joined(separator: " ")
        return Binding(
            id: SHA256.truncatedID(of: Array("\(readsID) \(decided(otherVariables)) \(named)".utf8)),
            reads: reads, rights: Set(rights), roles: roles,
            setSizes: document.sets.compactMap { set in
                guard case .members(_, let keys)? = values[VariableSyntax(.user, [set.name])] else { return nil }
                return (set.name, keys.count)
            }.sorted { $0.name < $1.name },
            isComplete: resolution.isComplete, classes: bound)
    }
}
