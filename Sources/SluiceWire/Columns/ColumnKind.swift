internal import SluiceModel

/// What all values of a column that are not null are.
enum ColumnKind: UInt8 {
    /// Every value is null; nothing follows.
    case null = 0
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case string = 5
    case data = 6
    case date = 7
    case uuid = 8
    case objectID = 9
    case decimal = 10
    case linkID = 11
    case linkInt = 12
    case linkString = 13
    case linkUUID = 14
    case list = 15
    case set = 16
    case map = 17
    /// The row's key as a value; nothing follows.
    case key = 30
    /// Values of several kinds, each in full.
    case mixed = 31

    /// The bit of a column's first byte that says that some values are null.
    static let nullsFlag: UInt8 = 0x80

    init(_ value: Value) {
        self =
            switch value {
            case .null: .null
            case .bool: .bool
            case .int: .int
            case .float: .float
            case .double: .double
            case .string: .string
            case .data: .data
            case .date: .date
            case .uuid: .uuid
            case .objectID: .objectID
            case .decimal: .decimal
            case .link(.id): .linkID
            case .link(.int): .linkInt
            case .link(.string): .linkString
            case .link(.uuid): .linkUUID
            case .list: .list
            case .set: .set
            case .map: .map
            }
    }

    /// What the values are that are not null; mixed where that is not known.
    init(_ column: ValueColumn) {
        self =
            switch column.content {
            case .null: .null
            case .key: .key
            case .integers(.bool, _): .bool
            case .integers(.int, _): .int
            case .integers(.date, _): .date
            case .integers(.link, _): .linkInt
            case .floats: .float
            case .doubles: .double
            case .texts(.string, _): .string
            case .texts(.link, _): .linkString
            case .values: .mixed
            }
    }

    /// Whether a bitmap of nulls may follow.
    var canHaveNulls: Bool { self != .null && self != .key && self != .mixed }

    var isCollection: Bool { self == .list || self == .set || self == .map }
}
