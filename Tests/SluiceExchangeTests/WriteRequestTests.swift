import SluiceModel
import Testing

@testable import SluiceExchange

struct WriteRequestTests {
    private static let longKey = String(repeating: "k", count: 1 << 20)
    private static let longKeyMessage =
        "the primary key 'vin' of Car: 1048576 bytes of a string that is a key; at most 1024 are allowed"

    private let parser: WriteRequestParser

    init() throws {
        let cars = try ClassSchema(
            "Car", primaryKey: "vin",
            properties: [
                Property("vin", .scalar(.string)), Property("price", .scalar(.double)),
                Property("views", .scalar(.int, isOptional: true)), Property("sister", .link("Car")),
            ])
        let notes = try ClassSchema(
            "Note",
            properties: [
                Property("text", .scalar(.string)), Property("lines", PropertyType(.scalar(.string), container: .list)),
                Property("tags", PropertyType(.scalar(.int), container: .set)),
                Property("rooms", PropertyType(.scalar(.int), container: .map)),
            ])
        parser = WriteRequestParser(schema: try Schema([cars, notes]), ids: ObjectIDGenerator(origin: 1))
    }

    @Test func insertsTakeTheKeyFromEitherPlace() throws {
        for line in [
            #"{"op":"insert","class":"Car","key":"a","set":{"price":5}}"#,
            #"{"op":"insert","class":"Car","set":{"vin":"a","price":5}}"#,
            #"{"op":"insert","class":"Car","key":"a","set":{"vin":"a","price":5.0,"sister":null}}"#,
        ] {
            guard case .insert(let record) = try parser.parse(line) else { throw OtherOperation(line) }
            #expect(record.key == .string("a"))
            #expect(record["price"] == .double(5))
        }
    }

    @Test func upsertsHoldWhatIsSetAlone() throws {
        let id = ObjectID(high: 3, low: 4)
        guard case .upsert(let car) = try parser.parse(#"{"op":"upsert","class":"Car","key":"a","set":{"views":5}}"#),
            case .upsert(let note) = try parser.parse(#"{"op":"upsert","class":"Note","@id":"\#(id)"}"#)
        else { throw OtherOperation("other operations") }
        #expect(car.key == .string("a"))
        #expect(["vin", "price", "views", "sister"].filter(car.isPresent) == ["vin", "views"])
        #expect(note.objectID == id && !note.isPresent("text"))
    }

    @Test func keylessObjectsAreNamedByIds() throws {
        let id = ObjectID(high: 3, low: 4)
        guard
            case .insert(let record) = try parser.parse(
                #"{"op":"insert","class":"Note","@id":"\#(id)","set":{"text":"x"}}"#),
            case .insert(let fresh) = try parser.parse(#"{"op":"insert","class":"Note"}"#),
            case .delete(let target) = try parser.parse(#"{"op":"delete","class":"Note","@id":"\#(id)"}"#)
        else { throw OtherOperation("other operations") }
        #expect(record.objectID == id)
        #expect(record["text"] == .string("x"))
        #expect(fresh.objectID.high == 1)
        #expect(target == .identity(Identity(className: "Note", key: .id(id))))
    }

    @Test func updatesSetAndAdd() throws {
        let line = #"{"op":"update","class":"Car","key":"a","set":{"sister":"b"},"add":{"views":2,"price":-0.5}}"#
        guard case .update(let target, let set, let add, []) = try parser.parse(line) else {
            throw OtherOperation(line)
        }
        #expect(target == .identity(Identity(className: "Car", key: .string("a"))))
        #expect(set == ["sister": .link(.string("b"))])
        #expect(add == ["views": .int(2), "price": .double(-0.5)])
    }

    @Test func anUpdateMayNameTheKeyThatTheObjectHas() throws {
        let line = #"{"op":"update","class":"Car","key":"a","set":{"vin":"a","price":5}}"#
        guard case .update(let target, let set, [:], []) = try parser.parse(line) else {
            throw OtherOperation(line)
        }
        #expect(target == .identity(Identity(className: "Car", key: .string("a"))))
        #expect(set == ["vin": .string("a"), "price": .double(5)])
    }

    @Test func updatesEditElementsInTheOrderThatTheHelpNames() throws {
        let line =
            #"{"op":"update","class":"Note","@id":"\#(ObjectID(high: 3, low: 4))","#
            + #""insert":{"tags":[5],"rooms":{"k":1},"lines":{"at":2,"elements":["a","b"]}},"#
            + #""move":{"lines":{"from":3,"to":0}},"remove":{"lines":["c"],"tags":[4],"rooms":["l"]}}"#
        guard case .update(_, [:], [:], let edits) = try parser.parse(line) else { throw OtherOperation(line) }
        #expect(
            edits == [
                CollectionEdit(property: "lines", change: .remove([.string("c")])),
                CollectionEdit(property: "rooms", change: .elements(ElementEdits(setting: [], erasing: ["l"]))),
                CollectionEdit(
                    property: "tags", change: .elements(ElementEdits(inserting: [], erasing: [.int(4)]))),
                CollectionEdit(property: "lines", change: .move(from: 3, to: 0)),
                CollectionEdit(property: "lines", change: .insert([.string("a"), .string("b")], at: 2)),
                CollectionEdit(
                    property: "rooms",
                    change: .elements(ElementEdits(setting: [.init(key: "k", value: .int(1))]))),
                CollectionEdit(property: "tags", change: .elements(ElementEdits(inserting: [.int(5)]))),
            ])
    }

    @Test func keyedObjectsMayBeNamedByIds() throws {
        let id = ObjectID(high: 3, low: 4)
        guard case .delete(let target) = try parser.parse(#"{"op":"delete","class":"Car","@id":"\#(id)"}"#) else {
            throw OtherOperation("another operation")
        }
        #expect(target == .id(id, className: "Car"))
    }

    @Test(arguments: [
        (#"[]"#, "not a JSON object"), (#"{"op":"insert""#, "at byte 15"),
        (#"{"op":"replace","class":"Car"}"#, "\"op\""), (#"{"op":"upsert","class":"Car"}"#, "primary key 'vin'"),
        (#"{"op":"upsert","class":"Note","set":{"text":"x"}}"#, "\"@id\" is missing"),
        (#"{"op":"upsert","class":"Car","key":"a","add":{"price":1}}"#, "no \"add\""),
        (#"{"op":"insert","class":"Cart","key":"a"}"#, "did you mean 'Car'?"), (#"{"op":"insert"}"#, "\"class\""),
        (#"{"op":"insert","class":"Car"}"#, "primary key 'vin'"),
        (#"{"op":"insert","class":"Car","key":5}"#, "'5' is not a string"),
        (#"{"op":"insert","class":"Car","key":"a","set":{"vin":"b"}}"#, "differ"),
        (#"{"op":"insert","class":"Car","key":"a","set":{"colour":1}}"#, "no property 'colour'"),
        (#"{"op":"insert","class":"Car","key":"a","set":{"price":"x"}}"#, "property 'price'"),
        (#"{"op":"insert","class":"Car","key":"a","set":{"price":null}}"#, "null is not allowed"),
        (#"{"op":"insert","class":"Car","key":"a","add":{"price":1}}"#, "no \"add\""),
        (#"{"op":"insert","class":"Car","key":"a","sets":{}}"#, "unknown member 'sets'"),
        (#"{"op":"update","class":"Car","set":{"price":1}}"#, "\"key\" or \"@id\" is missing"),
        (#"{"op":"update","class":"Car","key":"a"}"#, "needs something"),
        (#"{"op":"update","class":"Car","key":"a","set":{"vin":"b"}}"#, "cannot change"),
        (#"{"op":"delete","class":"Car","key":"\#(longKey)"}"#, longKeyMessage),
        (#"{"op":"insert","class":"Car","key":"\#(longKey)"}"#, longKeyMessage),
        (#"{"op":"upsert","class":"Car","set":{"vin":"\#(longKey)"}}"#, longKeyMessage),
        (#"{"op":"update","class":"Car","key":"a","set":{"price":1},"add":{"price":1}}"#, "in \"set\" and in \"add\""),
        (#"{"op":"update","class":"Car","key":"a","add":{"sister":1}}"#, "only numbers"),
        (#"{"op":"update","class":"Car","key":"a","add":{"views":1.5}}"#, "not of type int"),
        (#"{"op":"delete","class":"Car","key":"a","set":{"price":1}}"#, "neither"),
        (#"{"op":"update","class":"Car","key":"a","insert":{"price":[1]}}"#, "has no such edits"),
        (#"{"op":"update","class":"Car","key":"a","remove":{"colour":[1]}}"#, "no property 'colour'"),
        (#"{"op":"upsert","class":"Note","insert":{"lines":["a"]}}"#, "for updates"),
        (#"{"op":"update","class":"Note","insert":{"lines":["a"]},"set":{"lines":[]}}"#, "set as a whole, and edited"),
        (#"{"op":"update","class":"Note","insert":{"lines":{"at":"x","elements":[]}}}"#, "[ELEMENT,…]"),
        (#"{"op":"update","class":"Note","insert":{"lines":{"of":1}}}"#, "an object of at and elements"),
        (#"{"op":"update","class":"Note","insert":{"tags":["x"]}}"#, "property 'tags'"),
        (#"{"op":"update","class":"Note","move":{"lines":{"from":1}}}"#, "a move is"),
        (#"{"op":"update","class":"Note","move":{"tags":{"from":1,"to":2}}}"#, "has no such edits"),
        (#"{"op":"delete","class":"Note","key":"a"}"#, "no primary key"),
        (#"{"op":"delete","class":"Note","@id":"a"}"#, "32 hexadecimal"),
        (#"{"op":"delete","class":"Car","key":"a","@id":"b"}"#, "both given"),
    ])
    func wrongLinesSayWhatIsWrong(line: String, message: String) {
        let error = #expect(throws: WriteRequestError.self) { try parser.parse(line) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }
}

/// What a test throws where a line has become another operation than it expects.
private struct OtherOperation: Error {
    let description: String

    init(_ description: String) { self.description = description }
}
