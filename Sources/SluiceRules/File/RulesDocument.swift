internal import SluiceModel
internal import SluiceQuery

/// Where a text of the file begins, for messages about parts of it.
struct FilePlace: Sendable {
    /// The names that lead there, such as `classes.Document.read`.
    let path: String
    /// The byte that the value begins at.
    let start: Int
}

/// What a rules file says, as written.
struct RulesDocument: Sendable {
    /// The derived sets of `user`, by name, in the order of the file.
    var sets: [(name: String, query: WrittenQuery)] = []
    /// `roles`, in the order of the file.
    var roles: [(name: String, condition: UserCondition)] = []
    var database: [DatabaseRight: UserCondition] = [:]
    /// Where `database` says that the database has a permission list; nil if it does not.
    var databaseLists: FilePlace?
    /// `classes`, in the order of the file.
    var classes: [(name: String, rules: WrittenClass)] = []
    /// Where everything is in the text.
    var places = JSONPlaces([], isJSON: false)

    func set(_ name: String) -> WrittenQuery? { sets.first { UTF8Order.equal($0.name, name) }?.query }

    func role(_ name: String) -> UserCondition? { roles.first { UTF8Order.equal($0.name, name) }?.condition }
}

/// A right that concerns no class.
package enum DatabaseRight: String, Hashable, Sendable, CaseIterable {
    /// To add classes and properties.
    case schema
    /// To read `status`, and the `subscriptions` and `explain` of others.
    case reports
    /// To read the rules, and to store others.
    case rules
    /// To send ephemeral messages to other clients, and to receive theirs.
    case messages
    /// To run consumers and queues.
    case jobs
}

/// What the rules of a class may allow.
package enum RuleAction: String, Hashable, Sendable, CaseIterable {
    case read, create, update, delete
    /// What must hold of an object after an update; without a rule, that of ``update``.
    case updateAfter
}

/// The rules of one class as written.
struct WrittenClass: Sendable {
    var rules: [RuleAction: WrittenRule] = [:]
    var fields: [(name: String, rules: WrittenField)] = []
    /// Where the class's name is.
    var place: FilePlace
    /// Whether links to unreadable objects of the class are null.
    var hidesIdentity = false
    /// Whether what a readable object links to is readable.
    var isTransitive = false
    /// `permissionLists`, of which ``rules`` are made.
    var lists: PermissionLists?
}

/// The rules of one property.
struct WrittenField: Sendable {
    var read: UserCondition?
    var write: WrittenRule?
    var place: FilePlace
}

/// A derived set: the results of a query.
struct WrittenQuery: Sendable {
    var syntax: QuerySyntax
    var text: String
    var place: FilePlace

    var className: String {
        if case .objects(let name, _) = syntax.target { name } else { "" }
    }
}

/// A condition on objects of a class.
struct WrittenRule: Sendable {
    /// How a rule is written.
    enum Form: Sendable {
        /// A condition in the query language.
        case condition(PredicateSyntax)
        /// `{"channels": "property"}`: the property names channels, and the user has one of them.
        case channels(property: String)
        /// `{"objectList": "property"}`: the property links to the object's permissions.
        case objectList(property: String)
    }

    var form: Form
    /// What the rule allows.
    var action: RuleAction
    var text: String
    var place: FilePlace
}

/// A condition on the user alone: of a role, a right, or who may read a property.
struct UserCondition: Sendable {
    /// How the condition is written.
    enum Form: Sendable {
        /// Comparisons of variables and constants, and `ANY Class.path == …`, which asks whether there is an object.
        case condition(PredicateSyntax)
        /// `Class WHERE condition`: whether there is an object.
        case query(QuerySyntax)
        /// Whether the list of a level is empty or gives a flag.
        case permissionList(PermissionLevel, PermissionFlag)
    }

    var form: Form
    var text: String
    var place: FilePlace
}
