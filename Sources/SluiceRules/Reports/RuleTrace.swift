package import SluiceModel
package import SluiceQuery

/// A rule, or a part of one, as its author wrote it, and what it says of an object.
///
/// It names variables and shows no values of theirs, so that whoever may ask why something is denied learns nothing of
/// claims.
package struct RuleTrace: Hashable, Sendable {
    /// What a condition says.
    package enum Outcome: String, Hashable, Sendable {
        case holds, fails
        /// Without an object: it depends on which one.
        case depends
    }

    /// The action that the rule is about.
    package let action: RuleAction
    /// The property whose own rule it is; nil for a rule of the class.
    package var property: String?
    /// The condition in one spelling; nil if there is no rule, which denies it.
    package let text: String?
    package let outcome: Outcome
    /// What the condition joins by OR or AND.
    package let parts: [RuleTrace]
}

extension Rules {
    /// What each of the rules that an action needs says of an object, and why.
    ///
    /// - Parameters:
    ///   - row: the object; nil to ask of the class as a whole.
    ///   - source: the objects as they are, whoever asks.
    package func traces(
        of action: RuleAction, onClass classIndex: Int, _ row: Row?, for user: RuleUser, facts: RuleFactResults,
        in source: any ObjectSource
    ) throws -> [RuleTrace] {
        let tracer = RuleTracer(self, user: user, facts: facts, row: row, source: source)
        let needed: [RuleAction] =
            switch action {
            case .read: [.read]
            case .create: [.create]
            case .update, .updateAfter: [.read, .update, .updateAfter]
            case .delete: [.read, .delete]
            }
        return try needed.map { try tracer.trace($0, onClass: classIndex) }
    }

    /// What the rule of a property says of an object whose property an action writes, and why.
    ///
    /// - Parameters:
    ///   - action: creation, or update.
    ///   - property: one that has a rule of its own, or that the user may not read.
    ///   - row: the object: for an update as it is before, for a creation as it is afterwards.
    package func trace(
        ofWriting property: Int, by action: RuleAction, onClass classIndex: Int, _ row: Row, for user: RuleUser,
        facts: RuleFactResults, in source: any ObjectSource
    ) throws -> RuleTrace {
        let tracer = RuleTracer(self, user: user, facts: facts, row: row, source: source)
        return try tracer.trace(writing: schema[classIndex].properties[property].name, action, onClass: classIndex)
    }
}

/// Judges the parts of rules for one user, and of one object.
private struct RuleTracer {
    private let document: RulesDocument
    private let schema: Schema
    private let binder: ConditionBinder
    private let row: Row?
    private let source: any ObjectSource

    init(_ rules: Rules, user: RuleUser, facts: RuleFactResults, row: Row?, source: any ObjectSource) {
        document = rules.file.document
        schema = rules.schema
        let resolution = Resolution(document, schema: schema, user: user, client: [:], results: facts)
        binder = ConditionBinder(schema: schema) { resolution.value($0) }
        self.row = row
        self.source = source
    }

    func trace(_ action: RuleAction, onClass classIndex: Int) throws -> RuleTrace {
        let name = schema[classIndex].name
        guard let predicate = predicate(of: action, onClass: name) else {
            return RuleTrace(action: action, text: nil, outcome: .fails, parts: [])
        }
        return try trace(predicate, action, name)
    }

    func trace(writing property: String, _ action: RuleAction, onClass classIndex: Int) throws -> RuleTrace {
        let name = schema[classIndex].name
        let fields = document.classes.first { UTF8Order.equal($0.name, name) }?.rules.fields ?? []
        let rule = fields.first { UTF8Order.equal($0.name, property) }?.rules.write
        guard let predicate = rule?.predicate(onClass: name, schema: schema) else {
            return RuleTrace(action: action, property: property, text: nil, outcome: .fails, parts: [])
        }
        var trace = try trace(predicate, action, name)
        trace.property = property
        return trace
    }

    private func predicate(of action: RuleAction, onClass name: String) -> PredicateSyntax? {
        if action == .read { return document.readPredicate(ofClass: name, schema: schema) }
        guard let written = document.classes.first(where: { UTF8Order.equal($0.name, name) })?.rules else { return nil }
        let rule = written.rules[action] ?? (action == .updateAfter ? written.rules[.update] : nil)
        return rule?.predicate(onClass: name, schema: schema)
    }

    private func trace(_ predicate: PredicateSyntax, _ action: RuleAction, _ name: String) throws -> RuleTrace {
        let operands: [PredicateSyntax] =
            switch predicate {
            case .or(let operands), .and(let operands): operands
            case .constant, .comparison, .not: []
            }
        return RuleTrace(
            action: action, text: NormalText.predicate(predicate), outcome: try outcome(of: predicate, name),
            parts: try operands.map { try trace($0, action, name) })
    }

    private func outcome(of predicate: PredicateSyntax, _ name: String) throws -> RuleTrace.Outcome {
        // What does not fit the schema allows nothing.
        guard let query = binder.query(QuerySyntax(.objects(className: name), where: predicate)), !query.isOfNothing
        else { return .fails }
        if query.isOfWholeClass { return .holds }
        guard let row else { return .depends }
        return try BoundCondition(query, schema: schema).allows(row, in: source) ? .holds : .fails
    }
}
