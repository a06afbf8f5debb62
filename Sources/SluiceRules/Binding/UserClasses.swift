internal import SluiceModel
package import SluiceQuery

/// The classes that hide who their objects are and may have an object for each user, so that the id of a user tells
/// which object that is.
///
/// What an object has to do with a user is said by the rules that compare something of it with `$user.id`.
struct UserClasses: Sendable {
    /// How the object of a user is found.
    enum Tie: Sendable {
        /// No rule says that the objects are users. One whose key is a user's id may be one all the same.
        case unsaid
        /// The object's key is the user's id.
        case key
        /// Another property is, so which object it is takes a search.
        case property
    }

    /// By class, each of which hides who its objects are.
    let ties: [Int: Tie]

    init(_ document: RulesDocument, schema: Schema) {
        var ties: [Int: Tie] = [:]
        for (name, rules) in document.classes where rules.hidesIdentity {
            if let index = schema.index(of: name) { ties[index] = .unsaid }
        }
        if !ties.isEmpty {
            var search = TieSearch(schema: schema, ties: ties)
            search.look(at: document)
            ties = search.ties
        }
        self.ties = ties
    }
}

/// Finds what rules compare with `$user.id`.
private struct TieSearch {
    let schema: Schema
    var ties: [Int: UserClasses.Tie]

    private static let userID = VariableSyntax(.user, ["id"])

    mutating func look(at document: RulesDocument) {
        for (_, set) in document.sets { look(at: set.syntax) }
        for (_, condition) in document.roles { look(at: condition) }
        for condition in document.database.values { look(at: condition) }
        for (name, rules) in document.classes {
            guard let index = schema.index(of: name) else { continue }
            for rule in rules.rules.values { look(at: rule.predicate(onClass: name, schema: schema), of: index) }
            for (_, field) in rules.fields {
                if let write = field.write { look(at: write.predicate(onClass: name, schema: schema), of: index) }
                if let read = field.read { look(at: read) }
            }
        }
    }

    private mutating func look(at condition: UserCondition) {
        if case .query(let query) = condition.form { return look(at: query) }
        condition.predicate.forEachComparison { comparison in
            if let query = comparison.existenceQuery { look(at: query) }
        }
    }

    private mutating func look(at query: QuerySyntax) {
        guard case .objects(let name, _) = query.target, let index = schema.index(of: name) else { return }
        look(at: query.predicate, of: index)
    }

    /// - Parameter variables: the classes of the objects that the variables of subqueries around stand for.
    private mutating func look(at predicate: PredicateSyntax, of root: Int, _ variables: [String: Int] = [:]) {
        predicate.forEachComparison { comparison in
            for (side, other) in [(comparison.left, comparison.right), (comparison.right, comparison.left)] {
                switch side {
                case .path(let path) where other.names(Self.userID): note(path, of: root, variables)
                case .subquery(let subquery):
                    guard let inner = target(of: subquery.collection, from: root, variables) else { continue }
                    var variables = variables
                    variables[subquery.variable] = inner
                    look(at: subquery.predicate, of: root, variables)
                default: break
                }
            }
        }
    }

    private mutating func note(_ path: PathSyntax, of root: Int, _ variables: [String: Int]) {
        guard let last = steps(of: path, from: root, variables).last else { return }
        if let target = last.target {
            tie(target, .key)
        } else {
            tie(last.owner, last.property == schema[last.owner].primaryKeyIndex ? .key : .property)
        }
    }

    /// Of two ties the one counts that hides more.
    private mutating func tie(_ classIndex: Int, _ tie: UserClasses.Tie) {
        switch (ties[classIndex], tie) {
        case (nil, _), (.property, _): break
        default: ties[classIndex] = tie
        }
    }

    private func target(of path: PathSyntax, from root: Int, _ variables: [String: Int]) -> Int? {
        steps(of: path, from: root, variables).last?.target
    }

    /// The properties on a path; fewer where the schema lacks one.
    private func steps(
        of path: PathSyntax, from root: Int, _ variables: [String: Int]
    ) -> [(owner: Int, property: Int?, target: Int?)] {
        var steps: [(owner: Int, property: Int?, target: Int?)] = []
        var place: Int? = root
        for component in path.components {
            switch component.kind {
            case .variable(let name): place = variables[name]
            case .property(let name):
                guard let owner = place, let property = schema[owner].index(of: name) else { return steps }
                place = schema[owner].properties[property].type.targetClass.flatMap(schema.index(of:))
                steps.append((owner, property, place))
            case .backlink(let name, _):
                guard let owner = place else { return steps }
                place = schema.index(of: name)
                steps.append((owner, nil, place))
            case .operation, .key, .index, .named: break
            }
        }
        return steps
    }
}

extension ExpressionSyntax {
    fileprivate func names(_ variable: VariableSyntax) -> Bool {
        let comparison = ComparisonSyntax(self, .equal, .value(.null))
        return comparison.literals.contains { $0.variable == variable }
    }
}

extension Rules {
    /// Whether some users' ids may have to be kept from some readers.
    package var hidesUsers: Bool { !userClasses.ties.isEmpty }
}

extension Binding {
    /// Whether some users' ids may have to be kept from this user.
    package var hidesUsers: Bool { classes.rules.hidesUsers }

    /// Whether an id of another user must not reach this user: it would tell which object of a class that hides that has
    /// to do with the other user, and this user may not read that object.
    ///
    /// - Parameter source: the objects as they are, whoever reads.
    /// - Complexity: a look at one object for each class that hides who its objects are.
    package func hides(userID: String, in source: any ObjectSource) throws -> Bool {
        let schema = reads.schema
        for (classIndex, tie) in classes.rules.userClasses.ties where reads.condition(ofClass: classIndex) != nil {
            if case .property = tie { return true }
            guard let key = schema[classIndex].key(userID) else { continue }
            if let row = try source.row(ObjectRef(classIndex, key)) {
                if try !reads.allows(row, ofClass: classIndex, in: source) { return true }
            } else if case .key = tie {
                // As with links: an object that is hidden and one that was deleted look alike.
                return true
            }
        }
        return false
    }
}
