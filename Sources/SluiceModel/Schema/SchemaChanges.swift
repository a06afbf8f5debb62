/// What taking one schema into another changes.
package struct SchemaChanges: Hashable, Sendable {
    /// Positions of the classes that are new.
    package var classes: [Int] = []
    /// New properties of classes that existed.
    package var properties: [PropertyPosition] = []
    /// Existing properties that became indexed.
    package var indexes: [PropertyPosition] = []
    /// Properties that have another name, or are known by more former names.
    package var renames: [Rename] = []
    /// Properties whose type became wider.
    package var retypes: [Retype] = []
    /// Properties that begin anew with another type, without the values they had.
    package var replacements: [PropertyPosition] = []

    package struct PropertyPosition: Hashable, Sendable {
        package var classIndex: Int
        package var property: Int
    }

    package struct Rename: Hashable, Sendable {
        package var position: PropertyPosition
        /// The name before.
        package var name: String
    }

    package struct Retype: Hashable, Sendable {
        package var position: PropertyPosition
        /// The type before.
        package var type: PropertyType
    }

    package var isEmpty: Bool { classes.isEmpty && properties.isEmpty && indexes.isEmpty && !reshapes }

    /// Whether what existed has another name or type, so that whoever holds queries or rows has to look again.
    package var reshapes: Bool { !renames.isEmpty || !retypes.isEmpty || !replacements.isEmpty }
}
