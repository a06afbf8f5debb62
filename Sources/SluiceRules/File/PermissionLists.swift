internal import SluiceModel
internal import SluiceQuery

/// Realm's permissions of a class: `"permissionLists": "property"`, or `true` if its objects have no lists.
///
/// What somebody may do to an object is what all levels give: the database's list, the class's list and the object's.
/// An empty list gives everything, and a list with a permission only what its permissions say.
struct PermissionLists: Sendable {
    /// The property with the list of each object; nil if only the class has one.
    var property: String?
    var place: FilePlace

    /// The levels above the objects of a class.
    static func levels(ofClass name: String, hasDatabaseList: Bool) -> [PermissionLevel] {
        (hasDatabaseList ? [.database] : []) + [.ofClass(name)]
    }

    /// Whether the user has a flag of an object.
    func predicate(_ flag: PermissionFlag, levels: [PermissionLevel]) -> PredicateSyntax {
        let above = levels.flatMap { level in
            level.flags(for: flag).map { flag in
                PredicateSyntax.comparison(
                    ComparisonSyntax(
                        truthOf: LiteralSyntax(.variable(VariableSyntax(.role, [level.role(flag)])))))
            }
        }
        guard let property, PermissionLevel.object.flags.contains(flag) else { return .and(above) }
        let alternatives = [PermissionList.isEmpty(property)] + PermissionList.grants(property, flag)
        return .or(alternatives.map { .and(above + [$0]) })
    }
}

extension RuleAction {
    /// The flag that allows the action; nil if authority over the object before is enough.
    var flag: PermissionFlag? {
        switch self {
        case .read: .canRead
        case .create: .canCreate
        case .update: .canUpdate
        case .updateAfter: nil
        case .delete: .canDelete
        }
    }
}

extension RulesDocument {
    /// Makes rules and roles of the permission lists.
    mutating func expandPermissionLists() {
        func levelRoles(_ level: PermissionLevel, _ place: FilePlace) -> [(name: String, condition: UserCondition)] {
            PermissionFlag.allCases.filter { level.flags.contains($0) }.map { flag in
                (
                    level.role(flag),
                    UserCondition(form: .permissionList(level, flag), text: level.role(flag), place: place)
                )
            }
        }
        if let place = databaseLists {
            roles += levelRoles(.database, place)
            database[.schema] =
                database[.schema]
                ?? UserCondition(
                    form: .permissionList(.database, .canModifySchema), text: "permissionLists", place: place)
        }
        for index in classes.indices {
            guard let lists = classes[index].rules.lists else { continue }
            let name = classes[index].name
            roles += levelRoles(.ofClass(name), lists.place)
            let levels = PermissionLists.levels(ofClass: name, hasDatabaseList: databaseLists != nil)
            for action in RuleAction.allCases {
                classes[index].rules.rules[action] = WrittenRule(
                    form: .condition(action.flag.map { lists.predicate($0, levels: levels) } ?? .constant(true)),
                    action: action, text: "permission lists", place: lists.place)
            }
        }
    }
}
