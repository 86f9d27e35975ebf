[package]
name = "orchard"
version = "1.0.0"
description = "How Orchard, an online shop, runs its applications"
