import SluiceTransport
import Testing

struct AddressKeyTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"), ("192.0.2.1:80", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"), ("[2001:db8::1]:80", "2001:db8:0:0::/64"),
        ("2001:db8::ffff:1", "2001:db8:0:0::/64"), ("fe80::1%eth0", "fe80:0:0:0::/64"), ("a store", "a store"),
        ("", ""),
    ])
    func addressesOfOneCustomerHaveOneKey(text: String, expected: String) {
        #expect(AddressKey(text).description == expected)
        #expect(AddressKey(text) == AddressKey(expected.replacing("::/64", with: "::2")))
    }

    @Test func otherTextIsCutShort() {
        #expect(AddressKey(String(repeating: "x", count: 1_000)).description.count == 64)
    }
}
