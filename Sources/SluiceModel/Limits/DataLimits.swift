/// Every limit on data: what an object, a transaction, a frame and a schema may hold. PROTOCOL.md, section 11, has the
/// same table.
///
/// One table for both sides. A store checks it where a write is made and a server where it merges, so what both accept
/// fits the frames that carry it, to the server and to every reader: ``contradictions`` lists what would break that.
package struct DataLimits: Hashable, Sendable {
    /// The longest frame in either direction, in bytes.
    package var frameByteCount = 16 << 20
    /// The most bytes that a frame may expand to, with the blocks in it.
    package var expandedByteCount = 64 << 20
    /// The most messages of a frame.
    package var messageCount = 65_536
    /// The most elements that a frame to the server decodes to.
    package var uploadElementCount = 2 << 20
    /// The most elements that a frame to a client decodes to.
    package var downloadElementCount = 8 << 20
    /// How deep values nest.
    package var valueDepth = 8
    /// The most bytes of an object with all its properties, as ``Row/dataSize`` counts them.
    package var objectByteCount = 12 << 20
    /// The most elements of an object: one for each property, and one for each element of its collections.
    package var objectElementCount = 1 << 20
    /// The most bytes of a transaction, as ``ObjectOperation/dataSize`` counts them.
    package var transactionByteCount = 12 << 20
    /// The most elements of a transaction: two for each operation, one for each property that it names, and one for
    /// each element of the collections in it.
    package var transactionElementCount = 2_000_000
    /// The most operations of a transaction.
    package var operationCount = 100_000
    /// The most bytes of a primary key that is a string.
    package var keyByteCount = 1_024
    /// The most bytes of the name of a class or property.
    package var nameByteCount = 63
    package var classCount = 1_000
    /// The most properties of a class. A table of SQLite has at most 2,000 columns.
    package var propertyCount = 500
    /// The most properties of all classes together.
    package var schemaPropertyCount = 20_000
    /// The most bytes of a schema, as ``Schema/byteCount`` counts them.
    package var schemaByteCount = 1 << 20

    /// What a page, or a part of a commit, may hold before it takes one more object, in bytes.
    package var blockByteCount = 2 << 20
    /// Room in a frame for what is neither object nor operation, in bytes.
    package var overheadByteCount = 1 << 20
    /// The most keys in a message of a list of members.
    package var listedKeyCount = 10_000

    /// The names of limits that errors give.
    package enum Name {
        package static let objectBytes = "bytes of an object"
        package static let objectElements = "elements of an object"
        package static let transactionBytes = "bytes of a transaction"
        package static let transactionElements = "elements of a transaction"
        package static let operations = "operations of a transaction"
        package static let keyBytes = "bytes of a string that is a key"
    }

    package init() {}

    package static let standard = DataLimits()

    /// The table as PROTOCOL.md prints it.
    package var table: [(name: String, value: Int)] {
        [
            ("bytes of a frame", frameByteCount),
            ("bytes that a frame expands to, its blocks included", expandedByteCount),
            ("messages of a frame", messageCount), ("elements of a frame to the server", uploadElementCount),
            ("elements of a frame to the client", downloadElementCount), ("values within each other", valueDepth),
            (Name.objectBytes, objectByteCount), (Name.objectElements, objectElementCount),
            (Name.transactionBytes, transactionByteCount), (Name.transactionElements, transactionElementCount),
            (Name.operations, operationCount), (Name.keyBytes, keyByteCount),
            ("bytes of a name", nameByteCount), ("classes of a schema", classCount),
            ("properties of a class", propertyCount), ("properties of a schema", schemaPropertyCount),
            ("bytes of a schema", schemaByteCount),
        ]
    }

    /// The relations between limits that do not hold; none in a table that can be used.
    package var contradictions: [String] {
        let relations: [(String, Bool)] = [
            (
                "an object fits a frame behind a block that is nearly full",
                blockByteCount + objectByteCount + overheadByteCount <= frameByteCount
            ),
            (
                "its elements fit too: every element of a block takes a byte",
                blockByteCount + objectElementCount + overheadByteCount <= downloadElementCount
            ),
            ("a transaction fits a frame", transactionByteCount + overheadByteCount <= frameByteCount),
            ("its elements fit too", transactionElementCount + messageElementCount <= uploadElementCount),
            (
                "a transaction can make the largest object",
                objectByteCount <= transactionByteCount && objectElementCount + 2 <= transactionElementCount
            ),
            ("what a server reads a client reads", uploadElementCount <= downloadElementCount),
            ("a frame expands to no less than it is", frameByteCount <= expandedByteCount),
            ("a schema fits a frame", schemaByteCount + overheadByteCount <= frameByteCount),
            (
                "its elements fit too",
                schemaByteCount + 4 * (classCount + schemaPropertyCount) + messageElementCount <= uploadElementCount
            ),
            (
                "a list of members fits a frame",
                listedKeyCount * (keyByteCount + 16) + overheadByteCount <= frameByteCount
            ),
            ("a class fits a table, with the columns that every table has", propertyCount + 16 <= 2_000),
            ("a class fits a property set", propertyCount <= 512),
        ]
        return relations.filter { !$0.1 }.map(\.0)
    }

    /// What a message takes besides its content, in elements.
    private var messageElementCount: Int { 64 }
}
