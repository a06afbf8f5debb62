package import SluiceModel

/// The classes that tests and fuzzing of rules share: users, teams, documents, and permission lists.
package enum RulesSchema {
    package static let schema: Schema = {
        let classes = try? [
            ClassSchema(
                "User", primaryKey: "id",
                properties: [Property("id", .scalar(.string)), Property("name", .scalar(.string))]),
            ClassSchema(
                "Team", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)),
                    Property("members", PropertyType(.link("User"), container: .list)),
                ]),
            ClassSchema(
                "Document", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.string)), Property("public", .scalar(.bool)),
                    Property("owner", .link("User")), Property("team", .link("Team")),
                    Property("salary", .scalar(.int)), Property("secret", .link("Secret")),
                    Property("channels", PropertyType(.scalar(.string), container: .list)),
                    Property("permissions", PropertyType(.link("Permission"), container: .list)),
                ]),
            ClassSchema(
                "Secret", primaryKey: "id",
                properties: [Property("id", .scalar(.string)), Property("text", .scalar(.string, isOptional: true))]),
            ClassSchema(
                "Channel", primaryKey: "name",
                properties: [
                    Property("name", .scalar(.string)),
                    Property("readers", PropertyType(.link("User"), container: .set)),
                ]),
            ClassSchema(
                "Role", primaryKey: "name",
                properties: [
                    Property("name", .scalar(.string)),
                    Property("members", PropertyType(.link("User"), container: .list)),
                ]),
            ClassSchema(
                "Permission",
                properties: [
                    Property("role", .link("Role")), Property("canRead", .scalar(.bool)),
                    Property("canUpdate", .scalar(.bool)), Property("canDelete", .scalar(.bool)),
                    Property("canCreate", .scalar(.bool)),
                ]),
        ]
        guard let classes, let schema = try? Schema(classes) else { preconditionFailure("the schema is wrong") }
        return schema
    }()
}
