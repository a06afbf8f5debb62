internal import SluiceModel
internal import SluiceQuery

/// Checks what the parts of a rules file say of each other, whatever classes there are: that the sets and roles that
/// conditions name are there, that none depends on itself, and that none is granted by `$client` alone.
struct ReferenceCheck {
    private let document: RulesDocument
    private var problems: [(byte: Int, place: String, message: String)] = []

    init(_ document: RulesDocument) { self.document = document }

    /// What is wrong, by the byte of the file.
    static func problems(of document: RulesDocument) -> [(byte: Int, place: String, message: String)] {
        var check = ReferenceCheck(document)
        for condition in document.conditions { check.visit(condition) }
        check.checkCircles()
        return check.problems
    }

    private mutating func report(_ position: Int?, _ place: FilePlace, _ message: String) {
        problems.append((document.places.byte(position ?? 0, ofStringAt: place.start), place.path, message))
    }

    private mutating func visit(_ condition: PlacedCondition) {
        condition.predicate.forEachComparison { comparison in
            for literal in comparison.literals {
                guard let variable = literal.variable, let message = problem(with: variable) else { continue }
                report(literal.position, condition.place, message)
            }
            guard let (variable, _) = comparison.presenceTest else { return }
            let isAlwaysSet =
                variable.source == .role || variable.source == .user && document.set(variable.names[0]) != nil
            if isAlwaysSet {
                report(
                    comparison.left.position, condition.place,
                    "\(variable) always has a value, so comparing it with NULL says nothing")
            }
        }
        if !RuleAuthority.isSound(condition.predicate) {
            report(condition.predicate.clientPosition, condition.place, RuleAuthority.message)
        }
    }

    /// What is wrong with a variable by itself; nil if nothing is.
    private func problem(with variable: VariableSyntax) -> String? {
        let name = variable.names[0]
        switch variable.source {
        case .client: return nil
        case .role:
            guard document.role(name) == nil else { return nil }
            return "there is no role '\(name)'" + Self.hint(name, document.roles.map(\.name), "$role.", "roles")
        case .user:
            if name == "claims" {
                return variable.names.count > 1 ? nil : "$user.claims needs a name, as in $user.claims.department"
            }
            guard variable.names.count == 1 else {
                return "$user.\(name) has no '\(variable.names[1])'"
                    + (name == "id" || document.set(name) != nil ? "" : "; claims are at $user.claims")
            }
            guard name != "id", document.set(name) == nil else { return nil }
            return "there is no derived set '\(name)'"
                + Self.hint(name, ["id", "claims"] + document.sets.map(\.name), "$user.", "user")
        }
    }

    private static func hint(_ name: String, _ known: [String], _ prefix: String, _ member: String) -> String {
        NearestName.find(name, among: known).map { "; did you mean '\(prefix)\($0)'?" }
            ?? "; declare it in \"\(member)\""
    }

    // MARK: Circles

    private mutating func checkCircles() {
        var depths: [VariableSyntax: Int] = [:]
        var path: [VariableSyntax] = []
        func depth(_ variable: VariableSyntax, _ report: (FilePlace, String) -> Void) -> Int {
            if let known = depths[variable] { return known }
            guard let condition = document.definition(of: variable) else { return 0 }
            if let start = path.firstIndex(of: variable) {
                let circle = (path[start...] + [variable]).map(\.description).joined(separator: " → ")
                report(condition.place, "this depends on itself: \(circle)")
                return 0
            }
            path.append(variable)
            var deepest = 0
            for next in condition.predicate.variables { deepest = max(deepest, depth(next, report)) }
            path.removeLast()
            depths[variable] = deepest + 1
            if deepest + 1 > RulesLimits.dependencyDepthMax {
                report(
                    condition.place, "this depends on more than \(RulesLimits.dependencyDepthMax) others in a row")
            }
            return deepest + 1
        }
        var found: [(FilePlace, String)] = []
        let names =
            document.sets.map { VariableSyntax(.user, [$0.name]) }
            + document.roles.map { VariableSyntax(.role, [$0.name]) }
        for variable in names where found.isEmpty {
            _ = depth(variable) { found.append(($0, $1)) }
        }
        if let (place, message) = found.first { report(nil, place, message) }
    }
}

/// A condition of the file and where it is.
struct PlacedCondition {
    let predicate: PredicateSyntax
    let place: FilePlace
}

extension RulesDocument {
    /// All conditions as written.
    var conditions: [PlacedCondition] {
        var found = sets.map { PlacedCondition(predicate: $0.query.syntax.predicate, place: $0.query.place) }
        func add(_ condition: UserCondition) {
            found.append(PlacedCondition(predicate: condition.predicate, place: condition.place))
        }
        func add(_ rule: WrittenRule) {
            guard case .condition(let predicate) = rule.form else { return }
            found.append(PlacedCondition(predicate: predicate, place: rule.place))
        }
        for (_, condition) in roles { add(condition) }
        for condition in database.values { add(condition) }
        for (_, rules) in classes {
            for rule in rules.rules.values { add(rule) }
            for (_, field) in rules.fields {
                if let condition = field.read { add(condition) }
                if let rule = field.write { add(rule) }
            }
        }
        return found
    }

    /// The condition that a variable's value comes from; nil if it comes from none.
    func definition(of variable: VariableSyntax) -> PlacedCondition? {
        switch variable.source {
        case .client: return nil
        case .role:
            return role(variable.names[0]).map { PlacedCondition(predicate: $0.predicate, place: $0.place) }
        case .user:
            return set(variable.names[0]).map { PlacedCondition(predicate: $0.syntax.predicate, place: $0.place) }
        }
    }
}

extension PredicateSyntax {
    /// Where the first `$client` is.
    fileprivate var clientPosition: Int? {
        var position: Int?
        forEachComparison { comparison in
            for literal in comparison.literals where literal.variable?.source == .client {
                position = position ?? literal.position
            }
        }
        return position
    }
}
