internal import SluiceModel
internal import SluiceQuery

/// Realm's form of permissions: a list property of each object links to its permissions, each of which links to a role
/// and says what the role's members may do.
///
/// The classes are ordinary ones that sync: `Permission` with a link `role` and the flags `canRead`, `canUpdate`,
/// `canDelete` and `canSetPermissions`; `Role` with the key `name` and the list `members` of `User`, whose key is `id`.
/// Everybody is a member of the role `everyone`.
enum ObjectList {
    /// The flag of a permission that an action needs; nil for a creation, which no list of the object can allow before
    /// it is there.
    static func flag(for action: RuleAction) -> String {
        switch action {
        case .read: "canRead"
        case .create: "canCreate"
        case .update, .updateAfter: "canUpdate"
        case .delete: "canDelete"
        }
    }

    /// `SUBQUERY(property, $p, $p.flag == TRUE AND (ANY $p.role.members.id == $user.id OR $p.role.name == 'everyone'))`
    static func predicate(_ property: String, _ action: RuleAction) -> PredicateSyntax {
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
        let isGranted = ComparisonSyntax(path(flag(for: action)), .equal, .value(.bool(true)))
        func count(_ role: ComparisonSyntax) -> PredicateSyntax {
            let subquery = SubquerySyntax(
                PathSyntax(property), "p", .and([.comparison(isGranted), .comparison(role)]))
            return .comparison(ComparisonSyntax(.subquery(subquery), .greater, .value(.int(0))))
        }
        // Two counts, so that the role of everybody also reaches a user without an id.
        return .or([count(isMember), count(isForAll)])
    }

    /// Why a property cannot be a list of permissions; nil if it can.
    static func problem(with property: String, of declared: ClassSchema, schema: Schema) -> String? {
        guard let type = declared.property(named: property)?.type, type.targetClass == "Permission",
            type.container == .list || type.container == .set
        else { return "\(declared.name).\(property) is no list of links to the class Permission" }
        let query = QuerySyntax(
            .objects(className: declared.name),
            where: Substitution { _ in .one(.text("x")) }.predicate(predicate(property, .read)))
        do throws(QueryError) {
            _ = try Query(query, schema: schema)
            return nil
        } catch {
            return "the classes of \"objectList\" are not as it needs them: \(error.message)"
        }
    }
}
