internal import SluiceModel
internal import SluiceQuery

/// The conditions that a list of permissions stands for.
///
/// The classes are ordinary ones that sync: `Permission` with a link `role` and flags; `Role` with the key `name` and
/// the list `members` of `User`, whose key is `id`. Everybody is a member of the role `everyone`.
enum PermissionList {
    static let className = "Permission"
    /// The property of `ClassPermission` and `DatabasePermission` that is a list of permissions.
    static let property = "permissions"
    static let classOfClasses = "ClassPermission"
    static let classOfDatabase = "DatabasePermission"

    /// Whether the list has a permission with a flag that is the user's, as parts of an OR: by a role's members, and by
    /// the role of everybody, which also reaches a user without an id.
    static func grants(_ property: String, _ flag: PermissionFlag) -> [PredicateSyntax] {
        func path(_ names: String..., quantifier: PathSyntax.Quantifier? = nil) -> ExpressionSyntax {
            .path(
                PathSyntax(
                    [PathSyntax.Component(.variable("p"))] + names.map { PathSyntax.Component(.property($0)) },
                    quantifier: quantifier))
        }
        let isMember = ComparisonSyntax(
            path("role", "members", "id", quantifier: .any), .equal,
            .literal(LiteralSyntax(.variable(VariableSyntax(.user, ["id"])))))
        let isForAll = ComparisonSyntax(path("role", "name"), .equal, .value(.string("everyone")))
        let isGranted = ComparisonSyntax(path(flag.rawValue), .equal, .value(.bool(true)))
        return [isMember, isForAll].map { role in
            let subquery = SubquerySyntax(
                PathSyntax(property), "p", .and([.comparison(isGranted), .comparison(role)]))
            return .comparison(ComparisonSyntax(.subquery(subquery), .greater, .value(.int(0))))
        }
    }

    /// Whether the list is empty.
    static func isEmpty(_ property: String) -> PredicateSyntax {
        .comparison(ComparisonSyntax(count(property), .equal, .value(.int(0))))
    }

    private static func count(_ property: String) -> ExpressionSyntax {
        .path(PathSyntax([PathSyntax.Component(.property(property)), PathSyntax.Component(.operation("count"))]))
    }

    /// The query for a level's object if its list has a permission; nil for the level of objects.
    static func restriction(_ level: PermissionLevel) -> QuerySyntax? {
        query(level, .comparison(ComparisonSyntax(count(property), .greater, .value(.int(0)))))
    }

    /// The query for a level's object if its list gives the user a flag; nil for the level of objects.
    static func grant(_ level: PermissionLevel, _ flag: PermissionFlag) -> QuerySyntax? {
        query(level, .or(grants(property, flag)))
    }

    private static func query(_ level: PermissionLevel, _ predicate: PredicateSyntax) -> QuerySyntax? {
        switch level {
        case .object: return nil
        case .database:
            return QuerySyntax(.objects(className: classOfDatabase), where: predicate, clauses: [.limit(1)])
        case .ofClass(let name):
            let isOfClass = ComparisonSyntax(.path(PathSyntax("name")), .equal, .value(.string(name)))
            return QuerySyntax(
                .objects(className: classOfClasses), where: .and([.comparison(isOfClass), predicate]),
                clauses: [.limit(1)])
        }
    }
}
