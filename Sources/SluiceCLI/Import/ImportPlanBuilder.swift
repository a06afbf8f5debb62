internal import SluiceExchange
internal import SluiceModel

/// Builds an ``ImportPlan`` column by column.
struct ImportPlanBuilder {
    private static let idColumn = "@id"

    private let request: ImportPlan.Request
    private let schema: Schema
    private let existing: ClassSchema?
    private let primaryKey: String?
    private var properties: [Property]
    private var columns: [(name: String, property: String?, type: PropertyType)] = []
    private var keyColumn: Int?
    private var notes: [String] = []

    init(_ request: ImportPlan.Request, names: [String], schema: Schema) throws(CommandError) {
        self.request = request
        self.schema = schema
        let existing = schema.classSchema(named: request.className)
        self.existing = existing
        properties = existing?.properties ?? []
        let named = (request.key.map { [$0] } ?? []) + request.links.map(\.column) + request.types.map(\.column)
        for column in named where !names.contains(column) {
            throw .failure("there is no column '\(column)'; the file has \(names.joined(separator: ", "))")
        }
        for link in request.links where request.links.count(where: { $0.column == link.column }) > 1 {
            throw .usage("--link names the column '\(link.column)' twice")
        }
        if let key = request.key, request.links.contains(where: { $0.column == key }) {
            throw .usage("the column '\(key)' cannot be both --key and --link")
        }
        for type in request.types {
            if request.types.count(where: { $0.column == type.column }) > 1 {
                throw .usage("--type names the column '\(type.column)' twice")
            }
            if request.links.contains(where: { $0.column == type.column }) {
                throw .usage("the column '\(type.column)' cannot be both --type and --link")
            }
        }
        let asked = try request.key.map { (key) throws(CommandError) in
            let name = try Self.propertyName(key)
            return existing?.property(named: name)?.name ?? name
        }
        if let existing, let asked, existing.primaryKey != asked {
            let identity = existing.primaryKey.map { "the primary key '\($0)'" } ?? "no primary key"
            throw .failure(
                "--key=\(request.key ?? ""): \(existing.name) exists and has \(identity); that cannot change")
        }
        primaryKey = existing == nil ? asked : existing?.primaryKey
    }

    private static func propertyName(_ column: String) throws(CommandError) -> String {
        guard let name = PropertyName.make(of: column) else {
            throw .failure(
                "the column '\(column)' cannot name a property: 1 to 63 ASCII letters, digits and '_' are needed; rename it in the file's header"
            )
        }
        return name
    }

    mutating func add(_ column: String, _ inference: ColumnInference) throws(CommandError) {
        if column == Self.idColumn {
            guard primaryKey == nil else { return }
            keyColumn = columns.count
            columns.append((column, nil, .scalar(.objectID)))
            return
        }
        let link = request.links.first { $0.column == column }
        let renamed = link?.property
        let own = if let renamed { renamed } else { try Self.propertyName(column) }
        // A column may have the name that a property had before.
        let name = existing?.property(named: own)?.name ?? own
        if let other = columns.first(where: { $0.property == name }) {
            throw .failure("the columns '\(other.name)' and '\(column)' both make the property '\(name)'; rename one")
        }
        if name == primaryKey { keyColumn = columns.count }
        let type = try self.type(of: name, column: column, link: link, inference)
        columns.append((column, name, type))
        if existing?.property(named: name) == nil { properties.append(Property(name, type)) }
    }

    private mutating func type(
        of property: String, column: String, link: LinkOption?, _ inference: ColumnInference
    ) throws(CommandError) -> PropertyType {
        if let link, link.targetClass != request.className, schema.classSchema(named: link.targetClass) == nil {
            throw .failure(
                "--link=\(link.column):\(link.targetClass): there is no class '\(link.targetClass)', so the type of its keys is not known; import it first"
            )
        }
        let asked = request.types.first { $0.column == column }?.type
        if let own = existing?.property(named: property)?.type {
            if let asked, asked != own {
                throw .failure("--type=\(column):\(asked): \(request.className).\(property) exists and is \(own)")
            }
            if let link, own.targetClass != link.targetClass {
                throw .failure(
                    "\(request.className).\(property) exists and is \(own), not a link to \(link.targetClass); name another property with --link=\(link.column):\(link.targetClass):PROPERTY"
                )
            }
            return own
        }
        if let link { return inference.linkType(to: link.targetClass) }
        if asked == nil, inference.hasOnlyNulls {
            notes.append(
                "the column '\(column)' holds no value, so it becomes \(inference.type()); --type=\(column):TYPE says otherwise"
            )
        }
        var type = asked ?? inference.type(isKey: property == primaryKey)
        if asked == nil, type.element == .scalar(.decimal) {
            notes.append(
                "the column '\(column)' holds numbers that a double would round, so it becomes \(type); --type=\(column):TYPE says otherwise"
            )
        }
        // Existing objects have no value for a new property; null says so, where a zero would be wrong.
        if existing != nil || request.isOptional && property != primaryKey, !type.isCollection {
            type.isOptional = true
        }
        return type
    }

    func plan() throws(CommandError) -> ImportPlan {
        if let primaryKey, keyColumn == nil {
            throw .failure(
                "\(request.className) has the primary key '\(primaryKey)', and the file has no such column; it has \(columns.map(\.name).joined(separator: ", "))"
            )
        }
        do throws(SchemaError) {
            let declared = try ClassSchema(request.className, primaryKey: primaryKey, properties: properties)
            return ImportPlan(
                classSchema: declared, needsDeclaration: properties.count > (existing?.properties.count ?? -1),
                columns: columns.map { column in
                    ImportPlan.Column(
                        name: column.name, property: column.property.flatMap { declared.index(of: $0) },
                        codec: PropertyCodec(column.type, targetKeyType: keyType(of: column.type, in: declared)),
                        takesAnyJSONAsText: existing == nil && column.type.element == .scalar(.string))
                }, keyColumn: keyColumn, notes: notes)
        } catch {
            throw .failure(error.message)
        }
    }

    private func keyType(of type: PropertyType, in declared: ClassSchema) -> ScalarType {
        guard let target = type.targetClass else { return .objectID }
        return target == declared.name ? declared.keyType : schema.classSchema(named: target)?.keyType ?? .objectID
    }
}
