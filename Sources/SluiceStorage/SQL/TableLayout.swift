package import SluiceModel
package import SluiceQuery

/// Defines how SQL tables store objects: the names of tables and columns, and the form of values.
///
/// The table of class `Car` is `"o_Car"`:
/// - `_row INTEGER PRIMARY KEY`: the local row id.
/// - Keyless classes only: `_hi INTEGER, _lo INTEGER`, the words of the object id through ``word(_:)``, `UNIQUE(_hi,
///   _lo)`.
/// - `_state INTEGER`: see ``State``. Queries see present rows only.
/// - `_version INTEGER`, `_absent BLOB`.
/// - A column `"p_<property>"` for each property that is not a collection; that of a primary key is `UNIQUE`, and set
///   for ghosts too.
///
/// The table of a collection property `tags` is `"c_Car_tags"(owner INTEGER, position INTEGER, value)`, of a map
/// `"c_Car_tags"(owner INTEGER, key TEXT, value)`; `owner` is the local row id, `position` ascends in list or set
/// order. Its rows exist only while the owner is present. The table of a list has a column `identity BLOB` too, which
/// is null but in the first row of a list that was edited: ``ListIdentity``.
///
/// Values: bool 0 or 1; int INTEGER; float and double REAL, in a column without affinity, which keeps the sign of zero,
/// and NaN the text `nan`; string TEXT; data BLOB; date INTEGER microseconds; uuid and objectId BLOB of 16 bytes;
/// decimal BLOB of ``DecimalKey``; link INTEGER, the target's local row id (a ghost has one too); null NULL.
package struct TableLayout: Sendable {
    /// The values of `_state`.
    package enum State {
        /// A ghost: the target of a link, without content.
        package static let ghost: Int64 = 0
        /// An object.
        package static let present: Int64 = 1
        /// An object that was deleted.
        package static let tombstone: Int64 = 2
    }

    package static let row = "_row"
    package static let state = "_state"
    package static let version = "_version"
    package static let absent = "_absent"
    package static let high = "_hi"
    package static let low = "_lo"
    package static let owner = "owner"
    package static let position = "position"
    package static let key = "key"
    package static let value = "value"
    package static let identity = "identity"

    /// The SQL functions that a connection must have before it runs compiled queries.
    package enum Function {
        /// `sluice_fold(text)`: ``CaseFolding``; null for null.
        package static let fold = "sluice_fold"
        /// `sluice_like(pattern, text, folded)`: ``LikePattern``, 1 or 0; null if either text is null.
        package static let like = "sluice_like"
        /// `sluice_beginswith(text, needle)`, `sluice_endswith` and `sluice_contains`: ``TextSearch``, 1 or 0; null
        /// unless both are text or both are data.
        package static func search(_ comparison: ComparisonOperator) -> String {
            "sluice_\(comparison.rawValue.lowercased())"
        }
        /// `sluice_size(text)`: the length of text or data in bytes; null for null.
        package static let size = "sluice_size"
        /// `sluice_id(class, key)`: the 16 bytes of ``Identity/objectID``; INTEGER, TEXT and 16-byte BLOB keys.
        package static let id = "sluice_id"
        /// `sluice_arithmetic(program, term, …)`, of any number of terms: ``ArithmeticProgram/run(_:)``.
        package static let arithmetic = "sluice_arithmetic"
        /// `sluice_knows(slot, row)`: 1 if the running statement remembers a value, else 0. This and the next two are
        /// not deterministic.
        package static let knows = "sluice_knows"
        /// `sluice_recall(slot, row)`: the value that is remembered.
        package static let recall = "sluice_recall"
        /// `sluice_remember(slot, row, value)`: `value`, remembered until the statement ends.
        package static let remember = "sluice_remember"
        /// `sluice_decimal(type, number)`: ``SQLBinding/decimalKey(of:)``.
        package static let decimal = "sluice_decimal"

        /// `sluice_sum_int(value)` and the other aggregates, over many rows: ``Aggregation``.
        package static func name(of operation: AggregateOperation, _ type: ScalarType) -> String {
            "sluice_\(operation.rawValue)_\(type.rawValue)"
        }

        /// Every aggregate with the types that it works on.
        package static let aggregates: [(operation: AggregateOperation, type: ScalarType)] =
            AggregateOperation.allCases.flatMap { operation in
                ScalarType.allCases.filter { operation.result(of: $0) != nil }.map { (operation, $0) }
            }
    }

    package init() {}

    /// The name of a class's table, quoted.
    package func table(_ className: String) -> String { Self.quoted("o_" + className) }

    /// The name of a single property's column, quoted.
    package func column(_ property: String) -> String { Self.quoted("p_" + property) }

    /// The name of a collection property's table, quoted.
    package func table(_ className: String, collection property: String) -> String {
        Self.quoted("c_\(className)_\(property)")
    }

    /// An identifier in double quotes, fit for any name.
    package static func quoted(_ identifier: String) -> String {
        "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Half of an object id as a signed integer of the same order.
    package static func word(_ word: UInt64) -> Int64 { Int64(bitPattern: word ^ 1 << 63) }

    /// The half of an object id that ``word(_:)`` made this of.
    package static func unsigned(_ word: Int64) -> UInt64 { UInt64(bitPattern: word) ^ 1 << 63 }

    /// The declared type of a column for one value of this element type.
    package static func columnType(_ element: PropertyType.Element) -> String {
        switch element {
        case .link: "INTEGER"
        case .scalar(let type):
            switch type {
            case .bool, .int, .date: "INTEGER"
            case .string: "TEXT"
            // In a column of type REAL, SQLite stores whole numbers as integers and so loses the sign of zero.
            case .float, .double, .data, .uuid, .objectID, .decimal: "BLOB"
            }
        }
    }
}
