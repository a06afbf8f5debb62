/// What is wrong with a text message of a client.
package struct JSONRequestError: Error, Hashable {
    package let message: String
    /// Where in the text, as an offset in bytes; nil where the message says it.
    package var position: Int?
}
