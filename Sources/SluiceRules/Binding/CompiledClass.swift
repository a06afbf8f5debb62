internal import SluiceModel
internal import SluiceQuery

/// The rules of a class that the schema has.
struct CompiledClass: Sendable {
    private let className: String
    private let schema: Schema
    private let rules: [RuleAction: CompiledRule]
    private let writes: [Int: CompiledRule]
    /// Who may read single properties.
    let fieldReads: [Int: UserCondition]
    private let hidesIdentity: Bool
    /// The variables that the conditions name.
    let variables: [VariableSyntax]

    /// - Parameter read: what is readable; nil if nothing is.
    init(_ written: WrittenClass, classIndex: Int, read: PredicateSyntax?, schema: Schema) {
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
        variables = rules.values.flatMap(\.variables) + writes.values.flatMap(\.variables)
    }

    func bound(by binder: ConditionBinder, _ resolution: Resolution, _ right: VariableSyntax) -> BoundClass {
        var bound = BoundClass()
        for (action, rule) in rules { bound.conditions[action] = rule.bound(by: binder) }
        bound.conditions[.updateAfter] = bound.conditions[.updateAfter] ?? bound.conditions[.update]
        for (property, rule) in writes { bound.writes[property] = rule.bound(by: binder) }
        for (property, condition) in fieldReads where resolution.isTrue(condition, named: right) != true {
            bound.veil.properties.insert(property)
        }
        bound.veil.hidesIdentity = hidesIdentity
        return bound
    }
}

/// A condition on a class that the schema has.
struct CompiledRule: Sendable {
    private let className: String
    private let schema: Schema
    private let predicate: PredicateSyntax
    let variables: [VariableSyntax]
    /// The condition itself, if it names no variable: all users share it.
    private let constant: BoundCondition?

    init(_ predicate: PredicateSyntax, className: String, schema: Schema) {
        self.className = className
        self.schema = schema
        self.predicate = predicate
        variables = predicate.variables
        let binder = ConditionBinder(schema: schema) { _ in .unset }
        constant = variables.isEmpty ? Self.bound(predicate, className, schema, by: binder) : nil
    }

    func bound(by binder: ConditionBinder) -> BoundCondition {
        constant ?? Self.bound(predicate, className, schema, by: binder)
    }

    private static func bound(
        _ predicate: PredicateSyntax, _ className: String, _ schema: Schema, by binder: ConditionBinder
    ) -> BoundCondition {
        let target = QuerySyntax.Target.objects(className: className)
        if let query = binder.query(QuerySyntax(target, where: predicate)) {
            return BoundCondition(query, schema: schema)
        }
        guard let closed = binder.query(QuerySyntax(target, where: .constant(false))) else {
            preconditionFailure("the schema has no class \(className)")
        }
        return BoundCondition(closed, schema: schema)
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
        case .objectList(let property): return ObjectList.predicate(property, action)
        }
    }
}
