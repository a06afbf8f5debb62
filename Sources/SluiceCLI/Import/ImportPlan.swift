internal import SluiceExchange
internal import SluiceModel

/// Says how the columns of a file become the properties of a class.
struct ImportPlan: Sendable {
    /// One column of the file.
    struct Column: Sendable {
        let name: String
        /// The property's position in the class; nil for the column `@id`, which holds object ids.
        let property: Int?
        let codec: PropertyCodec
        /// Whether JSON values other than strings are stored as their JSON text.
        let takesAnyJSONAsText: Bool
    }

    /// The class with all properties that the file adds.
    let classSchema: ClassSchema
    /// Whether `classSchema` contains anything that the server's schema lacks.
    let needsDeclaration: Bool
    let columns: [Column]
    /// The column of the primary key or of the object ids; nil if every object gets a new id.
    let keyColumn: Int?
    /// The properties that no column sets.
    let absent: PropertySet
    /// Guesses to report to the user.
    let notes: [String]

    /// The request of the command line.
    struct Request: Sendable {
        let className: String
        let key: String?
        let links: [LinkOption]
        var types: [TypeOption] = []
        /// Whether every new property but the key may be null.
        var isOptional = false
    }

    /// Makes the plan of a file.
    ///
    /// - Parameters:
    ///   - columns: the columns in the order of the file, with their inferred types.
    ///   - schema: the server's schema. A class that it has takes precedence over the types that the file suggests.
    /// - Throws: ``CommandError`` when a name is invalid, a column is missing, or the file contradicts the schema.
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

    /// Whether the file holds the keys of its rows, so that importing it twice changes nothing.
    var hasKeys: Bool { keyColumn != nil }
}
