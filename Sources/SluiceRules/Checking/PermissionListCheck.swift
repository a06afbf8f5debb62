internal import SluiceModel
internal import SluiceQuery

extension PermissionList {
    /// Why a property cannot be a list of permissions; nil if it can.
    static func problem(
        with property: String, of declared: ClassSchema, _ flag: PermissionFlag, schema: Schema
    ) -> String? {
        guard let type = declared.property(named: property)?.type, type.targetClass == className,
            type.container == .list || type.container == .set
        else { return "\(declared.name).\(property) is no list of links to the class Permission" }
        return problem(
            with: QuerySyntax(.objects(className: declared.name), where: .or(grants(property, flag))), schema: schema)
    }

    /// Why a level has no list; nil if it has one.
    static func problem(with level: PermissionLevel, schema: Schema) -> String? {
        for flag in PermissionFlag.allCases where level.flags.contains(flag) {
            if let query = grant(level, flag), let problem = problem(with: query, schema: schema) { return problem }
        }
        return nil
    }

    private static func problem(with query: QuerySyntax, schema: Schema) -> String? {
        var bound = query
        bound.predicate = Substitution { _ in .one(.text("x")) }.predicate(query.predicate)
        do throws(QueryError) {
            _ = try Query(bound, schema: schema)
            return nil
        } catch {
            return "the classes of permission lists are not as they must be: \(error.message)"
        }
    }
}
