#if SLUICE_MACROS
    /// Makes a struct a class of the store: generates its schema, decoding by column position, encoding, and a
    /// memberwise initialiser with the properties' defaults unless the struct declares an initialiser itself.
    ///
    /// Every stored property becomes a property of the class unless it is marked ``Ignored()``. A property without a
    /// type annotation takes its type from its literal.
    ///
    /// The names of the class and its properties are 1 to 63 ASCII letters, digits and `_`, do not start with a digit,
    /// and no two properties differ only in case. A Swift name that does not do gets another with ``Property(_:was:)``
    /// or `name`.
    ///
    /// The struct may be `Equatable`, `Hashable` and `Codable`, written by the compiler: objects are compared and
    /// encoded by their properties and, in a class without a primary key, their ids, see ``ObjectMetadata``. It works
    /// in modules whose default isolation is the main actor; there an ``Inverse(_:)`` is declared `nonisolated`.
    /// - Parameter name: the class's name in schemas and queries; the struct's own name when left out.
    @attached(
        member,
        names: named(className), named(modelDefinition), named(objectMetadata), named(keyedMetadata), named(init),
        named(encode), named(Syncing))
    @attached(
        extension, conformances: Model, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable)
    public macro Model(_ name: String? = nil) = #externalMacro(module: "SluiceMacros", type: "ModelMacro")

    /// Makes a struct a class of the store, as ``Model(_:)``, and says whether its objects sync.
    ///
    /// Objects of a class that is `.local` stay in the store that has them: no server learns of the class, of its
    /// objects, or of queries over them. Such queries are complete at once. A link cannot lead from a class that syncs
    /// to one that is local, or back, and a class cannot change sides later.
    /// - Parameter syncing: `.local` for a class that does not sync.
    @attached(
        member,
        names: named(className), named(modelDefinition), named(objectMetadata), named(keyedMetadata), named(init),
        named(encode), named(Syncing))
    @attached(
        extension, conformances: Model, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable)
    public macro Model(_ syncing: ModelSyncing) = #externalMacro(module: "SluiceMacros", type: "ModelMacro")

    /// Makes a struct a class of the store, as `Model(_:)` does, under a name, and says whether its objects sync.
    /// - Parameters:
    ///   - name: the class's name in schemas and queries.
    ///   - syncing: `.local` for a class that does not sync, see `Model(_:)`.
    @attached(
        member,
        names: named(className), named(modelDefinition), named(objectMetadata), named(keyedMetadata), named(init),
        named(encode), named(Syncing))
    @attached(
        extension, conformances: Model, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable)
    public macro Model(_ name: String, _ syncing: ModelSyncing) =
        #externalMacro(module: "SluiceMacros", type: "ModelMacro")

    /// Marks the property that names objects within their class: an integer, a `String` or a `UUID`. It never changes.
    @attached(peer)
    public macro PrimaryKey() = #externalMacro(module: "SluiceMacros", type: "PropertyMarkerMacro")

    /// Asks for an index on the property, so that queries by it need not read every object.
    @attached(peer)
    public macro Indexed() = #externalMacro(module: "SluiceMacros", type: "PropertyMarkerMacro")

    /// Keeps a stored property out of the store: it has its initial value in everything that is read.
    @attached(peer)
    public macro Ignored() = #externalMacro(module: "SluiceMacros", type: "PropertyMarkerMacro")

    /// Makes the property an inverse relationship: the objects whose links at a key path lead here. It takes no place
    /// in the store.
    ///
    /// ```swift
    /// @Inverse(\Car.owners) var cars: Backlinks<Car>
    /// ```
    /// - Parameter property: the property of the other model that links.
    @attached(accessor)
    public macro Inverse<Source: Model, Value>(_ property: KeyPath<Source, Value>) =
        #externalMacro(module: "SluiceMacros", type: "InverseMacro")

    /// Gives the property another name in schemas and queries, or says what its name was before.
    ///
    /// ```swift
    /// @Property(was: "cost") var price = 0.0
    /// ```
    /// Where a store or server has a property of a former name, it becomes this one, with its values; programs and
    /// queries that use the former name go on.
    /// - Parameters:
    ///   - name: the name; the Swift name when left out.
    ///   - formerNames: what it was called before, the last first.
    @attached(peer)
    public macro Property(_ name: String? = nil, was formerNames: String...) =
        #externalMacro(module: "SluiceMacros", type: "PropertyMarkerMacro")
#endif
