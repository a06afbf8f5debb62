internal import SluiceModel
internal import SluiceQuery
internal import Synchronization

/// The rules of a class that the schema has.
struct CompiledClass: Sendable {
    private let className: String
    private let schema: Schema
    private let rules: [RuleAction: CompiledRule]
    private let writes: [Int: CompiledRule]
    /// What a user needs to have a flag of an object that has a permission list.
    private let grants: [PermissionFlag: CompiledRule]
    /// Who may read single properties.
    let fieldReads: [Int: UserCondition]
    private let hidesIdentity: Bool
    /// The variables that the conditions name.
    let variables: [VariableSyntax]

    /// - Parameters:
    ///   - read: what is readable; nil if nothing is.
    ///   - hasDatabaseList: whether the database has a permission list.
    init(
        _ written: WrittenClass, classIndex: Int, read: PredicateSyntax?, schema: Schema, hasDatabaseList: Bool
    ) {
        let declared = schema[classIndex]
        className = declared.name
        self.schema = schema
        var rules = written.rules.mapValues { rule in
            CompiledRule(
                rule.predicate(onClass: declared.name, schema: schema), className: declared.name, schema: schema)
        }
        rules[.read] = read.map { CompiledRule($0, className: declared.name, schema: schema) }
        self.rules = rules
        var writes: [Int: CompiledRule] = [:]
        var reads: [Int: UserCondition] = [:]
        for (name, field) in written.fields {
            guard let property = declared.index(of: name) else { continue }
            if let rule = field.write {
                writes[property] = CompiledRule(
                    rule.predicate(onClass: declared.name, schema: schema), className: declared.name, schema: schema)
            }
            reads[property] = field.read
        }
        self.writes = writes
        fieldReads = reads
        hidesIdentity = written.hidesIdentity
        var grants: [PermissionFlag: CompiledRule] = [:]
        if let lists = written.lists, lists.property != nil {
            let levels = PermissionLists.levels(ofClass: declared.name, hasDatabaseList: hasDatabaseList)
            for flag in PermissionLevel.object.flags {
                grants[flag] = CompiledRule(
                    lists.predicate(flag, levels: levels), className: declared.name, schema: schema)
            }
        }
        self.grants = grants
        variables =
            RuleAction.allCases.flatMap { rules[$0]?.variables ?? [] }
            + writes.sorted { $0.key < $1.key }.flatMap(\.value.variables)
            + PermissionFlag.allCases.flatMap { grants[$0]?.variables ?? [] }
    }

    /// Whether anything may be readable.
    var isReadable: Bool { rules[.read] != nil }

    /// The variables that the condition on reading names.
    var readVariables: [VariableSyntax] { rules[.read]?.variables ?? [] }

    /// What is hidden of the objects.
    func veil(_ resolution: Resolution, _ right: VariableSyntax) -> ReadVeil {
        let hidden = fieldReads.filter { resolution.isTrue($0.value, named: right) != true }
        return ReadVeil(properties: PropertySet(hidden.keys), hidesIdentity: hidesIdentity)
    }

    func condition(of action: RuleAction, _ values: BoundValues) -> BoundCondition? {
        let rule = rules[action] ?? (action == .updateAfter ? rules[.update] : nil)
        return rule?.bound(values)
    }

    /// What writing a property needs; nil if it has no rule of its own.
    func condition(onProperty property: Int, _ values: BoundValues) -> BoundCondition? {
        writes[property]?.bound(values)
    }

    /// What having a flag of an object needs; nil if the objects have no permission lists.
    func condition(onGranting flag: PermissionFlag, _ values: BoundValues) -> BoundCondition? {
        grants[flag]?.bound(values)
    }

    /// The properties that have rules for writing of their own.
    var writtenProperties: [Int] { Array(writes.keys) }
}

/// A condition on a class that the schema has.
final class CompiledRule: Sendable {
    /// The most bound conditions kept for users with the same roles and claims.
    private static let keptCountMax = 256

    private let className: String
    private let schema: Schema
    private let predicate: PredicateSyntax
    let variables: [VariableSyntax]
    /// Whether many users are likely to have the same values: then what was bound is kept for the next of them.
    private let isKept: Bool
    private let kept = Mutex<[[RuleValue]: BoundCondition]>([:])
    /// The form of the condition bound last, which those that differ in constants alone share.
    private let form = Mutex<QueryForm?>(nil)

    init(_ predicate: PredicateSyntax, className: String, schema: Schema) {
        self.className = className
        self.schema = schema
        self.predicate = predicate
        variables = predicate.variables
        isKept = variables.allSatisfy { $0.source == .role || $0.source == .user && $0.names.count > 1 }
    }

    /// - Parameter values: the values of the rule's variables at least.
    func bound(_ values: BoundValues) -> BoundCondition {
        guard isKept else { return BoundCondition(schema: schema) { self.query(values) } }
        let key = variables.map { values[$0] ?? .unknown }
        return kept.withLock { kept in
            if let known = kept[key] { return known }
            if kept.count >= Self.keptCountMax { kept.removeAll() }
            let bound = BoundCondition(schema: schema) { self.query(values) }
            kept[key] = bound
            return bound
        }
    }

    /// The condition with its variables replaced; one that no object meets if it does not fit the schema.
    private func query(_ values: BoundValues) -> Query {
        let binder = ConditionBinder(schema: schema) { values[$0] ?? .unknown }
        let target = QuerySyntax.Target.objects(className: className)
        let bound = binder.query(QuerySyntax(target, where: predicate))
        guard let query = bound ?? binder.query(QuerySyntax(target, where: .constant(false))) else {
            preconditionFailure("the schema has no class \(className)")
        }
        return form.withLock { form in
            if let form, form.key == query.form.key { return query.sharing(form) }
            form = query.form
            return query
        }
    }
}

extension WrittenRule {
    /// The condition that the rule stands for.
    func predicate(onClass className: String, schema: Schema) -> PredicateSyntax {
        switch form {
        case .condition(let predicate): return predicate
        case .channels(let property):
            let isToMany = schema.classSchema(named: className)?.property(named: property)?.type.isCollection ?? false
            return .comparison(
                ComparisonSyntax(
                    .path(PathSyntax(property, quantifier: isToMany ? .any : nil)), .isIn,
                    .literal(LiteralSyntax(.variable(VariableSyntax(.user, ["channels"]))))))
        case .objectList(let property):
            return .or(PermissionList.grants(property, action.flag ?? .canUpdate))
        }
    }
}
