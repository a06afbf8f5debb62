import Foundation
import Sluice

enum Colour: String, PropertyElement { case red, green }
enum Level: Int, PropertyElement { case low = 1, high = 2 }

/// The twin of `MacroEverything`, without the macro.
struct ManualEverything: KeyPathModel, Hashable {
    var bool = true
    var int = 1
    var int8: Int8 = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var uint8: UInt8 = 0
    var uint16: UInt16 = 0
    var uint32: UInt32 = 0
    var float: Float = 0
    var double = 2.5
    var string = "s"
    var data: Data = Data([1])
    var date = Date(timeIntervalSince1970: 1)
    var timestamp: Timestamp = Timestamp(microseconds: 5)
    var uuid: UUID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    var id: ObjectID = ObjectID(high: 1, low: 2)
    var decimal: Decimal = 3
    var colour: Colour = .red
    var level: Level? = .low
    var optionalInt: Int?
    var optionalString: String? = "x"
    var optionalDate: Date?
    var ints: [Int] = [1, 2]
    var optionalStrings: [String?] = []
    var uuids: Set<UUID> = []
    var scores: [String: Double] = [:]
    var user: Link<User>?
    var users: Links<User> = []
    var userSet: Set<Link<User>> = []
    var usersByName: [String: Link<User>] = [:]
    var renamed = 0
    var `class` = "c"
    var objectMetadata = ObjectMetadata()

    static var className: String { "Everything" }
    static let modelDefinition = ModelDefinition(ManualEverything.self) { model in
        model.property("bool", \.bool)
        model.property("int", \.int)
        model.property("int8", \.int8)
        model.property("int16", \.int16)
        model.property("int32", \.int32)
        model.property("int64", \.int64)
        model.property("uint8", \.uint8)
        model.property("uint16", \.uint16)
        model.property("uint32", \.uint32)
        model.property("float", \.float)
        model.property("double", \.double)
        model.property("string", \.string)
        model.property("data", \.data)
        model.property("date", \.date)
        model.property("timestamp", \.timestamp)
        model.property("uuid", \.uuid)
        model.property("id", \.id)
        model.property("decimal", \.decimal)
        model.property("colour", \.colour)
        model.property("level", \.level)
        model.property("optionalInt", \.optionalInt)
        model.property("optionalString", \.optionalString)
        model.property("optionalDate", \.optionalDate)
        model.property("ints", \.ints)
        model.property("optionalStrings", \.optionalStrings)
        model.property("uuids", \.uuids)
        model.property("scores", \.scores)
        model.property("user", \.user)
        model.property("users", \.users)
        model.property("userSet", \.userSet)
        model.property("usersByName", \.usersByName)
        model.property("plain_name", \.renamed, isIndexed: true)
        model.property("class", \.`class`)
    }
}

struct ManualPlane: KeyPathModel {
    var tailnum = ""
    var seats = 0
    var objectMetadata = ObjectMetadata.keyed

    static var className: String { "Plane" }
    static let modelDefinition = ModelDefinition(ManualPlane.self) { model in
        model.primaryKey("tailnum", \.tailnum)
        model.property("seats", \.seats, default: 0)
    }

    init() {}

    init(tailnum: String, seats: Int = 0) {
        self.tailnum = tailnum
        self.seats = seats
    }
}

/// The requirements that let a test treat both models alike.
protocol Everything: Model, Hashable {
    init()
    var bool: Bool { get set }
    var int: Int { get set }
    var int8: Int8 { get set }
    var int16: Int16 { get set }
    var int32: Int32 { get set }
    var int64: Int64 { get set }
    var uint8: UInt8 { get set }
    var uint16: UInt16 { get set }
    var uint32: UInt32 { get set }
    var float: Float { get set }
    var double: Double { get set }
    var string: String { get set }
    var data: Data { get set }
    var date: Date { get set }
    var timestamp: Timestamp { get set }
    var uuid: UUID { get set }
    var id: ObjectID { get set }
    var decimal: Decimal { get set }
    var colour: Colour { get set }
    var level: Level? { get set }
    var optionalInt: Int? { get set }
    var optionalString: String? { get set }
    var optionalDate: Date? { get set }
    var ints: [Int] { get set }
    var optionalStrings: [String?] { get set }
    var uuids: Set<UUID> { get set }
    var scores: [String: Double] { get set }
    var user: Link<User>? { get set }
    var users: Links<User> { get set }
    var userSet: Set<Link<User>> { get set }
    var usersByName: [String: Link<User>] { get set }
    var renamed: Int { get set }
    var `class`: String { get set }
}

extension ManualEverything: Everything {}

#if SLUICE_MACROS
    @Model struct User {
        var name = ""
        var age = 0
        var friends: Links<User> = []
        @Inverse(\Car.owners) var cars: Backlinks<Car>
        @Inverse(\User.friends) var admirers: Backlinks<User>
    }

    @Model struct Dealer {
        @PrimaryKey let code: String
        var city: String?
        var owner: Link<User>?
        @Inverse(\Car.dealer) var stock: Backlinks<Car>
    }

    @Model struct Car {
        @PrimaryKey var vin: String
        var name = "Toyota"
        var price = 0.0
        var views = 0
        var imageURLs: [String] = []
        var owners: Links<User> = []
        var dealer: Link<Dealer>?
        @Indexed var year: Int = 0
        var colour: Colour
        @Ignored var cached = 7
        var label: String { name + vin }
        static let wheels = 4
    }

    @Model("Everything") struct MacroEverything: Hashable {
        var bool = true
        var int = 1
        var int8: Int8 = 0
        var int16: Int16 = 0
        var int32: Int32 = 0
        var int64: Int64 = 0
        var uint8: UInt8 = 0
        var uint16: UInt16 = 0
        var uint32: UInt32 = 0
        var float: Float = 0
        var double = 2.5
        var string = "s"
        var data: Data = Data([1])
        var date = Date(timeIntervalSince1970: 1)
        var timestamp: Timestamp = Timestamp(microseconds: 5)
        var uuid: UUID = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
        var id: ObjectID = ObjectID(high: 1, low: 2)
        var decimal: Decimal = 3
        var colour: Colour = .red
        var level: Level? = .low
        var optionalInt: Int?
        var optionalString: String? = "x"
        var optionalDate: Date?
        var ints: [Int] = [1, 2]
        var optionalStrings: [String?] = []
        var uuids: Set<UUID> = []
        var scores: [String: Double] = [:]
        var user: Link<User>?
        var users: Links<User> = []
        var userSet: Set<Link<User>> = []
        var usersByName: [String: Link<User>] = [:]
        @Property("plain_name") @Indexed var renamed = 0
        var `class` = "c"
    }
    @Model("Plane") struct MacroPlane {
        @PrimaryKey var tailnum: String
        var seats = 0
    }

    extension MacroEverything: Everything {
        init() { self.init(bool: true) }
    }

    let everythingTypes: [any Everything.Type] = [MacroEverything.self, ManualEverything.self]
#else
    struct User: KeyPathModel {
        var name = ""
        var objectMetadata = ObjectMetadata()

        static let modelDefinition = ModelDefinition(User.self) { $0.property("name", \.name) }
    }

    let everythingTypes: [any Everything.Type] = [ManualEverything.self]
#endif
