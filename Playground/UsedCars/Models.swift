import Foundation
import Sluice

@Model struct Car {
    @PrimaryKey var id: String = UUID().uuidString
    var name = "Toyota"
    var price = 0.0
    var imageURLs: [String] = []
    var condition = ""
    var discount = 0.0
    var owners: Links<User> = []
}

@Model struct User {
    @PrimaryKey var id: String = UUID().uuidString
    var name = ""
    var friends: Links<User> = []
}

@Model struct Person {
    @PrimaryKey var socialSecurityNumber: String = ""
}

@Model struct Dog {
    var name = ""
    var color = ""
}
