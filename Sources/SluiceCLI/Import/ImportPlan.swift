internal import SluiceModel

/// How the columns of a file become the properties of a class.
struct ImportPlan: Sendable {
    /// One column of the file.
    struct Column: Sendable {
        let name: String
        /// The property's position in the class; nil for the column `@id`, which holds the objects' ids.
        let property: Int?
        let codec: PropertyCodec
        /// Whether JSON values that are no strings become the text of their JSON.
        let takesAnyJSONAsText: Bool
    }

    /// The class with everything the file brings.
    let classSchema: ClassSchema
    /// Whether `classSchema` holds more than the server's schema does.
    let needsDeclaration: Bool
    let columns: [Column]
    /// The column of the primary key, or of ids; nil when every object gets a new id.
    let keyColumn: Int?
    /// The properties that no column sets.
    let absent: PropertySet
    /// Guesses that the user may want to know of.
    let notes: [String]

    /// What was asked for on the command line.
    struct Request: Sendable {
        let className: String
        let key: String?
        let links: [LinkOption]
        var types: [TypeOption] = []
        /// Whether every new property but the key may be null.
        var isOptional = false
    }

    /// - Parameters:
    ///   - columns: the columns in the order of the file, with what they hold.
    ///   - schema: the server's schema; a class that it has wins over what the file suggests.
    /// - Throws: ``CommandError`` when a name is unusable, a column is missing, or the file contradicts the schema.
    init(
        _ request: Request, columns: [(name: String, inference: ColumnInference)], schema: Schema
    ) throws(CommandError) {
        var builder = try ImportPlanBuilder(request, names: columns.map(\.name), schema: schema)
        for column in columns { try builder.add(column.name, column.inference) }
        self = try builder.plan()
    }

    init(
        classSchema: ClassSchema, needsDeclaration: Bool, columns: [Column], keyColumn: Int?, notes: [String] = []
    ) {
        self.classSchema = classSchema
        self.needsDeclaration = needsDeclaration
        self.columns = columns
        self.keyColumn = keyColumn
        self.notes = notes
        var absent = PropertySet(all: classSchema.properties.count)
        for column in columns { column.property.map { absent.remove($0) } }
        self.absent = absent
    }

    /// Whether rows are put under keys that the file holds, so that importing twice changes nothing.
    var hasKeys: Bool { keyColumn != nil }
}
