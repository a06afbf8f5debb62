package import SluiceJSON
internal import SluiceQuery

extension RulesFile {
    /// The comparisons of the file that can never match for somebody with these claims, since a claim is a list where one
    /// value is expected, or one value where a list is. Each message says what to write.
    ///
    /// - Parameter claims: an object, what a token or a user's record says.
    package func claimMisuses(of claims: JSONValue) -> [RulesProblem] {
        var problems: [(byte: Int, place: String, message: String)] = []
        func look(_ predicate: PredicateSyntax, at place: FilePlace) {
            predicate.forEachComparison { comparison in
                guard let message = comparison.claimMisuse(claims) else { return }
                let byte = document.places.byte(comparison.position ?? 0, ofStringAt: place.start)
                problems.append((byte, place.path, message))
            }
        }
        for (_, set) in document.sets { look(set.syntax.predicate, at: set.place) }
        for condition in document.roles.map(\.condition) + document.database.values {
            look(condition.predicate, at: condition.place)
        }
        for (_, rules) in document.classes {
            let conditions = rules.fields.compactMap(\.rules.read)
            for condition in conditions { look(condition.predicate, at: condition.place) }
            for rule in rules.rules.values + rules.fields.compactMap(\.rules.write) {
                if case .condition(let predicate) = rule.form { look(predicate, at: rule.place) }
            }
        }
        return RulesError.of(problems, in: document.places).problems
    }
}

extension ComparisonSyntax {
    /// What is wrong with the comparison for somebody with these claims; nil if nothing is.
    fileprivate func claimMisuse(_ claims: JSONValue) -> String? {
        if comparison == .isIn {
            guard let variable = right.claim, case .some(let value) = variable.value(in: claims), value.array == nil
            else { return nil }
            return "\(variable) is one value here, and IN takes a list; write "
                + text(ComparisonSyntax(left, .equal, right))
        }
        guard presenceTest == nil else { return nil }
        for (side, other) in [(left, right), (right, left)] {
            guard let variable = side.claim, variable.value(in: claims)?.array != nil else { continue }
            return "\(variable) is a list here, and \(comparison.rawValue) compares one value; write "
                + text(ComparisonSyntax(other, .isIn, side))
        }
        return nil
    }

    private func text(_ comparison: ComparisonSyntax) -> String { NormalText.predicate(.comparison(comparison)) }
}

extension ExpressionSyntax {
    /// The claim that this side is; nil for anything else.
    fileprivate var claim: VariableSyntax? {
        guard case .literal(let literal) = self, let variable = literal.variable, variable.source == .user,
            variable.names.first == "claims", variable.names.count > 1
        else { return nil }
        return variable
    }
}

extension VariableSyntax {
    /// What claims have under the variable's name; nil if they lack it, or have null there.
    fileprivate func value(in claims: JSONValue) -> JSONValue? {
        let value = names.dropFirst().reduce(Optional(claims)) { claims, name in claims?[name] }
        return value == .null ? nil : value
    }
}
