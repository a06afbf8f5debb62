internal import SluiceExchange
internal import SluiceJSON
package import SluiceModel

/// Reads a text as a number as imports and `sluice write` do, without files and a server.
package enum NumberTrial {
    /// The value of a text as a cell of CSV; nil if it is refused.
    package static func cell(_ text: String, as type: ScalarType) -> Value? {
        let codec = PropertyCodec(.scalar(type), targetKeyType: .objectID)
        return Array(text.utf8).withUnsafeBufferPointer { try? codec.value(text: $0) }
    }

    /// The value of a text as a member of JSON; nil if it is refused.
    package static func member(_ text: String, as type: ScalarType) -> Value? {
        guard let json = try? JSONParser.parse(text) else { return nil }
        return try? PropertyCodec(.scalar(type), targetKeyType: .objectID).value(json: json)
    }
}
