internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery

/// Finds the values of the variables for one user, each once, and the facts that they depend on.
final class Resolution {
    private let document: RulesDocument
    private let schema: Schema
    private let user: RuleUser
    private let client: ClientVariables
    private let results: RuleFactResults
    /// The values found so far.
    private(set) var values: [VariableSyntax: RuleValue] = [:]
    /// The facts that the values found so far depend on, each once.
    private(set) var facts: [RuleFact] = []
    private var factIDs: Set<RuleFact.ID> = []
    private(set) var isComplete = true

    init(
        _ document: RulesDocument, schema: Schema, user: RuleUser, client: ClientVariables,
        results: RuleFactResults
    ) {
        self.document = document
        self.schema = schema
        self.user = user
        self.client = client
        self.results = results
    }

    func value(_ variable: VariableSyntax) -> RuleValue {
        if let known = values[variable] { return known }
        // Names that depend on each other in a circle are refused when the file is read.
        values[variable] = .unknown
        let value = computed(variable)
        values[variable] = value
        return value
    }

    private func computed(_ variable: VariableSyntax) -> RuleValue {
        switch (variable.source, variable.names.first, variable.names.count) {
        case (.client, let name?, _): RuleValue(client: client[name])
        case (.role, let name?, _):
            document.role(name).flatMap { isTrue($0, named: variable) }.map { .one(.value(.bool($0))) } ?? .unknown
        case (.user, "id", 1): user.id.map { .one(.text($0)) } ?? .unset
        case (.user, "claims", _):
            RuleValue(
                claim: variable.names.dropFirst().reduce(Optional(user.claims)) { claims, name in claims?[name] })
        case (.user, let name?, 1): document.set(name).map { members($0, named: variable) } ?? .unknown
        default: .unknown
        }
    }

    // MARK: Derived sets

    private func members(_ set: WrittenQuery, named variable: VariableSyntax) -> RuleValue {
        guard let query = query(set.syntax) else { return .unknown }
        if query.isOfNothing { return .members(className: set.className, keys: []) }
        return keys(query, for: variable).map { .members(className: set.className, keys: $0) } ?? .unknown
    }

    /// A query with its variables replaced.
    ///
    /// - Returns: nil if it depends on what is not known, or does not fit the schema.
    private func query(_ syntax: QuerySyntax) -> Query? {
        guard syntax.predicate.variables.allSatisfy({ value($0) != .unknown }) else { return nil }
        return ConditionBinder(schema: schema) { self.value($0) }.query(syntax)
    }

    /// The keys of a fact's results; nil if they are not known.
    private func keys(_ query: Query, for variable: VariableSyntax) -> [ObjectKey]? {
        let fact = RuleFact(query: query, name: variable.description)
        if factIDs.insert(fact.id).inserted { facts.append(fact) }
        guard let keys = results[fact.id] else {
            isComplete = false
            return nil
        }
        return keys
    }

    // MARK: Conditions on the user

    /// Whether a condition holds for the user.
    ///
    /// - Parameter variable: what the condition decides.
    /// - Returns: nil if that is not known.
    func isTrue(_ condition: UserCondition, named variable: VariableSyntax) -> Bool? {
        switch condition.form {
        case .query(var syntax):
            syntax.clauses = [.limit(1)]
            return exists(syntax, for: variable)
        case .permissionList(let level, let flag):
            guard let restriction = PermissionList.restriction(level), let grant = PermissionList.grant(level, flag)
            else { return nil }
            return exists(restriction, for: variable).flatMap { $0 ? exists(grant, for: variable) : true }
        case .condition(let predicate):
            var isKnown = true
            let holds = holds(predicate, isNegated: false) { comparison, isNegated in
                guard let query = comparison.existenceQuery else {
                    return self.isTrue(comparison, isNegated: isNegated, &isKnown)
                }
                guard let exists = self.exists(query, for: variable) else {
                    isKnown = false
                    return isNegated
                }
                return exists
            }
            return isKnown ? holds : nil
        }
    }

    private func holds(
        _ predicate: PredicateSyntax, isNegated: Bool, _ comparison: (ComparisonSyntax, Bool) -> Bool
    ) -> Bool {
        switch predicate {
        case .constant(let isTrue): return isTrue
        case .comparison(let syntax): return comparison(syntax, isNegated)
        case .not(let operand): return !holds(operand, isNegated: !isNegated, comparison)
        // All operands are looked at, so that all facts are known from the beginning.
        case .and(let operands):
            return operands.map { holds($0, isNegated: isNegated, comparison) }.allSatisfy { $0 }
        case .or(let operands):
            return operands.map { holds($0, isNegated: isNegated, comparison) }.contains(true)
        }
    }

    /// Whether a comparison of variables and constants is true.
    private func isTrue(_ comparison: ComparisonSyntax, isNegated: Bool, _ isKnown: inout Bool) -> Bool {
        for variable in comparison.variables where value(variable) == .unknown {
            isKnown = false
            return isNegated
        }
        let bound = Substitution { self.value($0) }.predicate(.comparison(comparison), isNegated: isNegated)
        if case .constant(let isTrue) = bound { return isTrue }
        return ConstantCondition.isTrue(bound) ?? isNegated
    }

    private func exists(_ syntax: QuerySyntax, for variable: VariableSyntax) -> Bool? {
        guard let query = query(syntax) else { return nil }
        return query.isOfNothing ? false : keys(query, for: variable).map { !$0.isEmpty }
    }
}
