import SluiceModel

/// The classes of a ``RuledWorld`` and the rules that it has unless a test says otherwise.
extension RuledWorld {
    static let rules = """
        {"user": {"teams": "Team WHERE ANY members.id == $user.id"},
         "roles": {"admin": "$user.claims.role == 'admin'"},
         "database": {"schema": "$role.admin", "reports": "$role.admin"},
         "classes": {
          "User": {"read": "TRUEPREDICATE", "create": "$role.admin", "update": "$role.admin", "delete": "$role.admin"},
          "Team": {"read": "$role.admin OR ANY members.id == $user.id", "create": "$role.admin",
                   "update": "$role.admin OR ANY members.id == $user.id", "updateAfter": "TRUEPREDICATE",
                   "delete": "$role.admin"},
          "Document": {"read": "isPublic == TRUE OR owner.id == $user.id OR team IN $user.teams OR $role.admin",
                       "create": "owner.id == $user.id OR $role.admin",
                       "update": "owner.id == $user.id OR team IN $user.teams OR $role.admin",
                       "updateAfter": "TRUEPREDICATE", "delete": "owner.id == $user.id OR $role.admin",
                       "fields": {"grade": {"write": "$role.admin"}}}}}
        """

    /// Rules of this world, where users are hidden from those with whom they are in no team.
    static func hidingUsers(_ rules: String = rules) -> String {
        rules.replacing(
            "\"User\": {\"read\": \"TRUEPREDICATE\"",
            with: "\"User\": {\"hideIdentity\": true, \"read\": \"id == $user.id OR $role.admin OR "
                + "ANY @links.Team.members.members.id == $user.id\"")
    }

    static func schema() throws -> Schema {
        try Schema([
            ClassSchema("User", primaryKey: "id", properties: [Property("id", .scalar(.string))]),
            ClassSchema(
                "Team", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("members", .links("User"))]),
            ClassSchema(
                "Document", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("text", .scalar(.string)),
                    Property("isPublic", .scalar(.bool)), Property("owner", .link("User")),
                    Property("team", .link("Team")), Property("parent", .link("Document")),
                    Property("grade", .scalar(.int)),
                ]),
            ClassSchema(
                "Role", primaryKey: "name",
                properties: [Property("name", .scalar(.string)), Property("members", .links("User"))]),
            ClassSchema(
                "Permission", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("role", .link("Role"))]
                    + ["canRead", "canCreate", "canUpdate", "canDelete"].map { Property($0, .scalar(.bool)) }),
            ClassSchema(
                "Post", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("text", .scalar(.string)),
                    Property("permissions", .links("Permission")),
                ]),
        ])
    }

    enum ClassIndex { static let (user, team, document, role, permission, post) = (0, 1, 2, 3, 4, 5) }
    enum Field { static let (text, isPublic, owner, team, parent, grade) = (1, 2, 3, 4, 5, 6) }
}
