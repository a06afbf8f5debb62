import FoundationEssentials
import SluiceModel
import Testing

/// The expected ids are SHA-256 digests made with another implementation.
struct IdentityTests {
    static let uuid = UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF")

    @Test(arguments: [
        (ObjectKey.int(42), "d5c275c1aa78ef74ec3388d777f4b44c"),
        (ObjectKey.int(-1), "33bd96e76133379acd81524dfd09b7a8"),
        (ObjectKey.string("42"), "a2433cb0cb71bfa9a8cfab6574d6d0c2"),
        (ObjectKey.string("\u{E9}"), "ee8e83896323dc118f63cc0585615d46"),
        (ObjectKey.string(""), "239334f284918929829328a201762b35"),
        (ObjectKey.string(String(repeating: "x", count: 5_000)), "b2a81174b1e1ada8e0862b48465c01a9"),
    ])
    func aKeyedObjectsIdIsTheDigestOfClassKindAndKey(key: ObjectKey, id: String) {
        #expect(Identity(className: "Plane", key: key).objectID.description == id)
    }

    @Test func aUUIDKeyEntersTheDigestAsIts16Bytes() throws {
        let identity = Identity(className: "Plane", key: .uuid(try #require(Self.uuid)))
        #expect(identity.objectID.description == "fd989b16f3fb97a06f5d365e3dee8ab2")
    }

    @Test func aKeylessObjectsIdIsItsKeyWhateverTheClass() {
        let id = ObjectID(high: 1, low: 2)
        #expect(Identity(className: "Plane", key: .id(id)).objectID == id)
        #expect(Identity(className: "User", key: .id(id)).objectID == id)
    }

    @Test func classKindAndKeyEachChangeTheId() throws {
        let uuid = try #require(Self.uuid)
        let text = String(decoding: [0, 0, 0, 0, 0, 0, 0, 42] as [UInt8], as: UTF8.self)
        let identities = [
            Identity(className: "Plane", key: .int(42)), Identity(className: "plane", key: .int(42)),
            Identity(className: "Plane", key: .int(43)), Identity(className: "Plane", key: .string("42")),
            Identity(className: "Plane", key: .string(text)), Identity(className: "Plane", key: .uuid(uuid)),
            Identity(className: "Plane", key: .string("\u{E9}")),
            Identity(className: "Plane", key: .string("e\u{301}")),
        ]
        #expect(Set(identities.map(\.objectID)).count == identities.count)
    }
}
