/// What the members of a role may do, by the name of the property of `Permission` that says so.
enum PermissionFlag: String, Hashable, Sendable, CaseIterable {
    case canRead, canQuery, canCreate, canUpdate, canDelete, canSetPermissions, canModifySchema
}

/// What a list of permissions is about.
enum PermissionLevel: Hashable, Sendable {
    /// The list of the one object of the class `DatabasePermission`.
    case database
    /// The list of the object of the class `ClassPermission` that has the class's name as its key.
    case ofClass(String)
    /// The list of the object that is judged.
    case object

    /// The flags that mean something in a list of the level.
    var flags: Set<PermissionFlag> {
        switch self {
        case .database: [.canRead, .canUpdate, .canSetPermissions, .canModifySchema]
        case .ofClass: [.canRead, .canQuery, .canCreate, .canUpdate, .canSetPermissions]
        case .object: [.canRead, .canUpdate, .canDelete, .canSetPermissions]
        }
    }

    /// The role of those to whom the level's list gives a flag. No role of a file has a name with a dot.
    func role(_ flag: PermissionFlag) -> String {
        switch self {
        case .database: "DatabasePermission.\(flag.rawValue)"
        case .ofClass(let name): "ClassPermission.\(name).\(flag.rawValue)"
        case .object: preconditionFailure("an object's list makes no role")
        }
    }

    /// The flags of a level that somebody needs who wants to have a flag of an object.
    func flags(for flag: PermissionFlag) -> [PermissionFlag] {
        switch (self, flag) {
        case (.object, _): [flag]
        case (.ofClass, .canRead): [.canRead, .canQuery]
        case (.ofClass, .canDelete), (.database, .canDelete), (.database, .canCreate): [.canUpdate]
        case (.database, _), (.ofClass, _): [flag]
        }
    }
}
